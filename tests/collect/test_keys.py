"""Tests of keys: who may send, how many reports, and what is stored of a key."""

import hashlib
import json
import os
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from running_collector import PLAN, RECORD, Collector, Visitor, numbers_in, read_answer, records

from assocpriv.collect import close_batches, collection_status, end_collection, list_keys, make_service, set_aside
from assocpriv.collect.keys import Keyring, add_key, read_keys, revoke_key
from assocpriv.collect.sqlite import SqliteStore
from assocpriv.collect.store import FolderLock, RequestRefused
from assocpriv.files.report_files import read_reports
from assocpriv.guarantees.errors import FileError, WireError


def shown(secret: str) -> list[tuple[bytes, bytes]]:
    """Return the headers of a request with a key."""
    return [(b"host", b"x"), (b"authorization", b"Bearer " + secret.encode())]


def refused(ring: Keyring, headers: list[tuple[bytes, bytes]]) -> bool:
    """Return whether a request with these headers is refused as one without a key."""
    with pytest.raises(RequestRefused) as caught:
        ring.key_of(headers)
    return (caught.value.status, caught.value.reason) == (401, "no-key")


def test_only_the_hash_of_a_key_is_stored(tmp_path: Path) -> None:
    """256 random bits are returned once; the file has their SHA-256, and only its owner may read it."""
    key, secret = add_key(tmp_path, "till 7", 5000)
    kept = (tmp_path / "keys.json").read_bytes()
    assert (bits := secret.removeprefix("assocpriv_")).encode() not in kept
    assert len(bits) == 43  # of 6 bits
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    (found,) = json.loads(kept)["keys"]
    assert found == {"number": 1, "name": "till 7", "sha256": hashlib.sha256(secret.encode()).hexdigest(),
                     "quota": 5000, "revoked": False}  # fmt: skip
    assert add_key(tmp_path, "till 8")[1] != secret
    assert read_keys(tmp_path)[0] == key


def test_a_running_collector_applies_changes(tmp_path: Path) -> None:
    """Added, revoked and removed keys apply from the next request on; a damaged file changes nothing."""
    ring = Keyring(tmp_path, required=True)
    assert refused(ring, [])
    key, secret = add_key(tmp_path, "till 7")
    assert ring.key_of(shown(secret)) == key
    (tmp_path / "keys.json").write_text("{")
    assert ring.key_of(shown(secret)) == key
    (tmp_path / "keys.json").unlink()
    assert refused(ring, shown(secret))
    _, secret = add_key(tmp_path, "till 8")
    ring.key_of(shown(secret))
    revoke_key(tmp_path, 1)
    assert refused(ring, shown(secret))
    assert add_key(tmp_path, "till 8")[0].number == 2  # numbers are never reused


def test_invalid_keys_are_refused(tmp_path: Path) -> None:
    """Another scheme, a longer key, its hash, or two headers: all get the same refusal."""
    _, secret = add_key(tmp_path, "till 7")
    ring = Keyring(tmp_path, required=True)
    ring.key_of([(b"authorization", f"bearer  {secret}".encode())])  # schemes are of any case
    for wrong in ("", "x", f"Basic {secret}", "Bearer", f"Bearer {secret}x", "Bearer ", f"Bearer {secret} {secret}"):
        assert refused(ring, [(b"authorization", wrong.encode())])
    assert refused(ring, shown(secret) * 2)
    assert refused(ring, shown(read_keys(tmp_path)[0].sha256))


@pytest.mark.parametrize(
    ("name", "quota", "message"),
    [*((name, None, "name must have 1 to 100") for name in ("", "a\nb", "x" * 101)),
     ("till", 0, "quota must be"), ("taken", None, "a key named 'taken'")],
)  # fmt: skip
def test_invalid_names_and_quotas(tmp_path: Path, name: str, quota: int | None, message: str) -> None:
    """A refused call changes nothing."""
    add_key(tmp_path, "taken")
    before = (tmp_path / "keys.json").read_bytes()
    with pytest.raises(FileError, match=message):
        add_key(tmp_path, name, quota)
    assert (tmp_path / "keys.json").read_bytes() == before


def test_invalid_files_of_keys(tmp_path: Path) -> None:
    """The message names a damaged file, an unknown key or a missing folder."""
    with pytest.raises(FileError, match="cannot use the folder"):
        add_key(tmp_path / "none", "till")
    add_key(tmp_path, "till")
    with pytest.raises(FileError, match="has no key 9"):
        revoke_key(tmp_path, 9)
    revoke_key(tmp_path, 1)
    with pytest.raises(FileError, match="key 1 is revoked already"):
        revoke_key(tmp_path, 1)
    whole = json.loads((path := tmp_path / "keys.json").read_bytes())
    for change in ({"format": "x"}, {"keys": whole["keys"] * 2}, {"keys": [{}]}):
        path.write_text(json.dumps(whole | change))
        with pytest.raises(FileError, match=r"keys\.json is damaged"):
            read_keys(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_root_changes_no_folder_of_another_user(tmp_path: Path) -> None:
    """Its collector could not read a file written by root: a revoked key would stay valid."""
    os.chown(tmp_path, 12345, 12345)
    for changing in (lambda: add_key(tmp_path, "till"), lambda: FolderLock.take(tmp_path)):
        with pytest.raises(FileError, match=r"belongs to user 12345, .*; run this as that user"):
            changing()
    assert list(tmp_path.iterdir()) == []


def test_keys_made_at_the_same_time(tmp_path: Path) -> None:
    """Several programs that add keys wait for each other: none is lost, and numbers differ."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: add_key(tmp_path, f"till {each}"), range(8)))
    assert sorted(key.number for key in read_keys(tmp_path)) == list(range(1, 9))


def test_the_service_requires_keys(tmp_path: Path) -> None:
    """401 names the header; the number is stored, as GET /status and GET /plan state; 429 beyond the quota."""
    _, secret = add_key(tmp_path, "till 7", 2)
    with Visitor(make_service(PLAN, tmp_path, admin=False)) as visitor:
        without = visitor.send(records([1]))
        assert (without.status, without.json["error"], without.headers["www-authenticate"]) == (401, "no-key", "Bearer")
        assert "unknown or revoked" in without.json["message"]
        visitor.headers["authorization"] = f"Bearer {secret}"
        assert visitor.send(records([1, 2])).json["accepted"] == 2
        again = visitor.send(records([1, 2]))
        assert (again.status, again.json) == (200, {"accepted": 0, "duplicates": 2})
        beyond = visitor.send(records([2, 3]))
        assert (beyond.status, beyond.json["error"]) == (429, "quota")
        assert (beyond.json["quota"], beyond.json["remaining"]) == (2, 0)
        status = visitor.get("/status").json
        assert (status["reports"], status["keys"], status["public"]) == (2, True, False)
        assert visitor.get("/plan").headers["assocpriv-keys"] == "required"
    found = collection_status(tmp_path)
    assert (found.by_key, found.keys, found.served, found.in_database) == ({1: 2}, True, False, 0)
    assert secret not in "".join(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file())


def test_keys_are_required_before_there_are_any(tmp_path: Path) -> None:
    """A collector that is started with keys accepts no report before there is one."""
    with Visitor(make_service(PLAN, tmp_path / "collection", keys=True, admin=False)) as visitor:
        assert visitor.send(records([1])).status == 401


def test_the_first_key_applies_from_the_next_request_on(collector: Collector) -> None:
    """Then every report needs a key, also in a request that has begun; the collector restarts only with the file."""
    assert collector.send(records([1]))[0] == 200
    in_progress = collector.raw()
    in_progress.sendall(collector.head(2 * RECORD) + records([2]))
    assert collector.send(records([1]))[0] == 200  # meanwhile the head was read
    _, secret = add_key(collector.data, "till 7", 1)
    in_progress.sendall(records([3]))
    assert read_answer(in_progress)[0] == 401
    assert collector.send(records([4]))[0] == 401
    assert collector.send(records([5]), Authorization=f"Bearer {secret}")[0] == 200
    assert collector.send(records([6]), Authorization=f"Bearer {secret}")[0] == 429
    status, (_, plan, _) = json.loads(collector.ask("GET", "/status")[2]), collector.ask("GET", "/plan")
    assert (status["reports"], status["keys"], status["public"], plan["assocpriv-keys"]) == (2, True, False, "required")
    kept = (collector.data / "keys.json").read_bytes()
    (collector.data / "keys.json").unlink()
    assert collector.send(records([7]))[0] == 401
    assert collection_status(collector.data).by_key == {0: 1, 1: 1}
    assert collector.end(signal.SIGTERM) == 0
    with pytest.raises(FileError, match=r"has reports with keys but no keys\.json"):
        make_service(PLAN, collector.data, admin=False)
    (collector.data / "keys.json").write_bytes(kept)
    with Visitor(make_service(PLAN, collector.data, admin=False)) as visitor:
        assert visitor.send(records([8])).status == 401


def test_a_public_collection_states_it_until_it_ends(tmp_path: Path) -> None:
    """Without keys everybody may send. Once ended, it accepts no more, its batches are closed, and ids are deleted."""
    folder = tmp_path / "collection"
    with Visitor(make_service(PLAN, folder, admin=False)) as visitor:
        assert visitor.send(records([1])).status == 200
        status = visitor.get("/status").json
        assert (status["keys"], status["public"]) == (False, True)
        assert visitor.get("/plan").headers["assocpriv-keys"] == "none"
        for operate in (close_batches, end_collection, lambda data: set_aside(data, 1)):
            with pytest.raises(FileError, match=r"another process serves"):
                operate(folder)
        assert collection_status(folder).served
    with pytest.raises(FileError, match=r"has 1 report, below the minimum of 1,000.*allow_small=True"):
        end_collection(folder)
    assert not collection_status(folder).ended
    shutil.copytree(folder, copy := tmp_path / "backup")
    for closed in (0, 1):
        with pytest.raises(WireError, match="hold the same reports, which would count twice"):
            read_reports([folder, copy])
        assert len(read_reports(copy)) == len(read_reports(folder)) == 1
        assert closed or end_collection(folder, allow_small=True) == 1
    assert (collection_status(folder).ended, collection_status(folder).closed) == (True, 1)
    assert list((folder / "ids").iterdir()) == []
    assert end_collection(folder) == 0
    with Visitor(make_service(PLAN, folder, admin=False)) as visitor:
        late = visitor.send(records([2]))
        assert (late.status, late.json["error"]) == (410, "ended")
        plan = visitor.get("/plan")  # a device must not spend privacy budget on it
        assert (plan.status, plan.json["error"]) == (410, "ended")
    assert numbers_in(folder) == [1]


def test_folders_that_cannot_be_operated(tmp_path: Path) -> None:
    """A folder that is no collector's, and a key without reports."""
    for operate in (close_batches, end_collection, collection_status, lambda data: set_aside(data, 1)):
        with pytest.raises(FileError, match=r"is no collector's folder: it has no plan\.json"):
            operate(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FileError, match="there is no folder"):
        list_keys(tmp_path / "none")
    SqliteStore(tmp_path, PLAN).close()
    with pytest.raises(FileError, match="has no reports of key 7"):
        set_aside(tmp_path, 7)
    with pytest.raises(FileError, match="set-aside has no reports of key 7"):
        set_aside(tmp_path, 7, restore=True)
