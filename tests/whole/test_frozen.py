"""What 1.0 freezes, compared with frozen.txt: names in Python, commands, files, and JSON at all levels.

A line there may come (and then belongs into it), but none may change or go before 2.0. ``python
tests/whole/test_frozen.py`` prints it anew, from some runs of a journey through all commands, as what is found depends
on chance: ``?`` marks a key that not every object of its place has.
"""

import csv
import inspect
import json
import random
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from command_line import run

import assocpriv as ap
from assocpriv.cli.main import main

FROZEN, ROOT = Path(__file__).with_name("frozen.txt"), Path(__file__).parents[2]
DOCUMENTS = "README.md", "docs/**/*.md", "examples/*.py", "examples/*.ipynb"
ITEMSETS = "3bca", "bdae"
SCHEMA = """
[columns.age]
kind = "number"
low = 0
high = 10
release = "square-wave"
[columns.class]
kind = "label"
values = ["A", "B"]
release = "response"
"""
TEMPLATES = """
[[template]]
channel = ["age"]
sensitive = {class = ["A"]}
confidence = "60%"
"""
GIVEN = "b", "c", "t", "prices"
_TYPES = {
    dict: "object", list: "list", bool: "flag", int: "number", float: "number", str: "text", type(None): "nothing",
}  # fmt: skip
# what a step's JSON is frozen as, and its words
JOURNEY = """
catalogue: catalogue b.csv -o names.txt
catalogue check: catalogue --check names.txt
plan: plan --catalogue names.txt --epsilon 5 --mean-size 2 --people 4000 -o plan.json
plan of a report type: plan --items 20 --transaction-size 3 --prior 5% --posterior 50% -o one.json
plan with a central guarantee: plan --items 20 --mean-size 3 --central 1,1e-6 --people 20000 -o central.json
plan of two rounds: plan --catalogue names.txt --epsilon 5 --people 4000 --rounds 2 -o rounds.json
refused: mine none.parquet
not understood: mine
plan found: plan --items 20 --prior 5% --posterior 50% --find 5%
plan of a table: plan --schema schema.toml --epsilon 4 --people 4000 -o table.json
privacy explained: privacy --explain
privacy: privacy plan.json --prior 1% --reports-per-person 3
privacy of a table: privacy table.json
privacy of several: privacy plan.json table.json --reports-per-person 2
inspect plan: inspect plan.json --people 5000 --detect 5%
inspect table plan: inspect table.json
randomize: randomize b.csv --plan plan.json -o r.parquet
randomize another side: randomize c.csv --plan plan.json -o s.parquet
randomize of a table: randomize t.csv --plan table.json -o t.parquet
randomize in rounds: randomize b.csv --plan rounds.json --rounds 2 -o rounds
inspect reports: inspect r.parquet
inspect manipulated: inspect r.parquet --check-manipulation
mine: mine r.parquet -o i.parquet
mine given: mine r.parquet --min-support 5% -o i.json
mine as a table: mine r.parquet --min-support 5% -o i.csv
inspect itemsets: inspect i.parquet
release: release b.csv --catalogue names.txt --epsilon 20 -o counts.parquet
inspect release: inspect counts.parquet
mine a release: mine counts.parquet
rules: rules i.parquet --min-confidence 20% -o rules.csv
rules for devices: rules i.parquet --min-confidence 20% --prices prices.csv -o rules.json
substitutes: rules r.parquet --substitutes -o u.csv
ask: ask r.parquet --itemset a,b --rule b=>c
compare: compare r.parquet s.parquet -o compared.csv
compare three: compare r.parquet s.parquet r2.parquet
refine: refine r.parquet -o second.json
simulate: simulate b.csv --plan plan.json --seed 1
simulate in rounds: simulate b.csv --plan rounds.json --rounds 2 --seed 1
simulate a table: simulate t.csv --plan table.json --seed 1
reconstruct: reconstruct t.parquet -o found.json
reconstruct by: reconstruct t.parquet --by class -o found.csv
reconstruct joint: reconstruct t.parquet --joint age,class
tree: tree t.parquet --class class -o model.json
predict: predict model.json t.csv -o predicted.csv
inspect tree: inspect model.json
generate: generate quest --people 100 --items 20 -o quest.dat
audit: audit table.json --trials 1000 --client single
guide start: guide start t.csv --class class --epsilon 4 -o guided.json --state state.json
guide publish: guide publish state.json -o guidance.json
randomize guided: randomize t.csv --plan guided.json --guidance guidance.json -o guided.parquet
guide collect: guide collect guided.parquet --state state.json
suppress check: suppress t.csv --templates templates.toml --column age=4 --check
suppress: suppress t.csv --templates templates.toml --column age=4 -o released.csv
report: report --plan one.json --ledger ledger.bin --period 1 -o inbox/report.bin
spent: report --ledger ledger.bin --spent
gather: gather inbox --plan one.json -o collection
collector status: collector status collection
collector keys added: collector keys collection --add till-7 --quota 50
collector keys: collector keys collection
collector keys revoked: collector keys collection --revoke 1
collector close: collector close collection --allow-small
collector set-aside: collector set-aside collection --key 1
collector remove: collector remove collection 1
demo: demo --size 3000 --items 20 -o demo
"""

Shape = dict[str, Counter[str]]  # how often each type stood at a place, as .itemsets[].support


def names() -> Iterator[str]:
    """Yield the names that Python's users may type, with their parameters; of classes those that documents show."""
    texts = [path.read_text(encoding="utf-8") for each in DOCUMENTS for path in sorted(ROOT.glob(each))]
    shown = set(re.findall(r"\.([a-z]\w+)", "".join(texts)))
    for module in (ap, ap.numeric, ap.guided, ap.suppress, ap.collect, ap.spark):
        own = [name for name, each in vars(module).items() if getattr(each, "__module__", None) == module.__name__]
        for name in sorted(getattr(module, "__all__", own)):
            value, path = getattr(module, name), f"{module.__name__}.{name}".replace("assocpriv", "ap")
            if name.startswith("_") or inspect.ismodule(value):
                continue
            yield path + _parameters(value)
            for each in sorted(shown & set(dir(value)) if isinstance(value, type) else ()):
                yield f"{path}.{each}{_parameters(inspect.getattr_static(value, each))}"
    baskets = [["0"]], ap.plan(3, ap.Guarantee.from_epsilon(2))
    table = {"age": [1], "class": ["A"]}, ap.numeric.plan_table(tomllib.loads(SCHEMA), ap.Guarantee.from_epsilon(4))
    for verb, given in (
        (ap.randomize, baskets), (ap.simulate, baskets), (ap.numeric.grow_tree, (ap.randomize(*baskets),)),
        (ap.randomize, table), (ap.simulate, table),
    ):  # fmt: skip
        with pytest.raises(TypeError) as refused:
            verb(*given, wrong=0)
        yield f"ap further arguments: {str(refused.value).partition('there are ')[2]}"


def _parameters(value: Any) -> str:
    value = getattr(value, "__func__", value)
    if not callable(value):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return "(…)"
    output = (re.sub(r"=.*<.*", "=…", str(each.replace(annotation=each.empty))) for each in parameters)
    return f"({', '.join(each for each in output if each not in ('self', 'cls'))})"


def commands(group: click.Group, path: str = "assocpriv") -> Iterator[str]:
    """Say the commands, what they take, and the words among which they let choose."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")
            continue
        for each in command.params:
            words = "|".join(getattr(each.type, "choices", ()))
            many = "…" if each.multiple or each.nargs != 1 else ""
            kind = "" if getattr(each, "is_flag", False) else f" {words or each.type.name}{many}"
            needed = " (needed)" if each.required else ""
            yield f"{path} {name} {' '.join((*each.opts, *each.secondary_opts))}{kind}{needed}"


def shape(value: Any, place: str, seen: Shape) -> Shape:
    """Count the type of a value and of all that is in it, by place."""
    seen.setdefault(place, Counter())[_TYPES[type(value)]] += 1
    for key, each in value.items() if isinstance(value, dict) else ():
        shape(each, f"{place}.{key}", seen)
    for each in value if isinstance(value, list) else ():
        shape(each, f"{place}[]", seen)
    return seen


def is_lacking(place: str, seen: Shape) -> bool:
    """Return whether an object lacked a key."""
    parent, _, key = place.rpartition(".")
    return "[]" not in key and seen.get(place, Counter()).total() < seen.get(parent, Counter())["object"]


def prepare(seed: int) -> None:
    """Write what a journey begins with into the current folder."""
    source = random.Random(seed)
    baskets = [source.choice(ITEMSETS) if source.random() < 0.7 else source.choice("abcdefg") for _ in range(4000)]
    Path("b.csv").write_text("".join(",".join(each) + "\n" for each in baskets))
    Path("c.csv").write_text("".join(",".join(each) + "\n" for each in [*baskets[2000:], *["eg"] * 2000]))
    rows = [(age := source.randrange(10), "AB"[(age < 5) ^ (source.random() < 0.1)]) for _ in range(4000)]
    Path("t.csv").write_text("age,class\n" + "".join(f"{age},{name}\n" for age, name in rows))
    Path("schema.toml").write_text(SCHEMA)
    Path("templates.toml").write_text(TEMPLATES)
    Path("prices.csv").write_text("".join(f"{each},1.5\n" for each in "3abcdefg"))
    Path("inbox").mkdir()


def journey() -> Iterator[tuple[str, Shape]]:
    """Run all commands in the current folder; say the JSON of each, and of each file that lies there in the end."""
    for line in JOURNEY.strip().splitlines():
        kind, _, words = line.partition(": ")
        if kind == "compare three":
            run("randomize", "b.csv", "--plan", "plan.json", "-o", "r2.parquet")
        done = CliRunner().invoke(main, [*words.split(), "--json"], input="1\n2\n")
        shapes = shape(json.loads(done.stdout or "null"), "", {})
        yield f"json {kind}, exit status {done.exit_code}", shapes
    for path in sorted(
        each for each in Path().rglob("*") if each.is_file() and each.parent.name not in ("demo", "inbox")
    ):
        name = re.sub(r"[0-9a-f]{16}", "EPOCH", str(path))
        if shown := list(_columns(path)):
            yield f"file {name}", {column: Counter((kind,)) for column, kind in shown}
        elif path.suffix == ".json":
            content = json.loads(path.read_text())
            own = " ".join(str(content[key]) for key in ("format", "version", "kind") if key in content)
            yield f"file {name}, {own}", shape(content, "", {})


def _columns(path: Path) -> Iterator[tuple[str, str]]:
    if path.suffix == ".parquet":
        schema = pq.read_schema(path)
        yield from ((each.name, str(each.type).replace(" ", "")) for each in schema)
        yield from ((f"metadata:{key.decode()}", "text") for key in sorted(schema.metadata or ()))
    elif path.suffix == ".csv" and path.stem not in GIVEN:
        with path.open(newline="") as stream:
            yield from ((name, "column") for name in next(csv.reader(line for line in stream if line[0] != "#")))


def lines(shapes: Mapping[str, Shape]) -> Iterator[str]:
    """Say what stands where."""
    for kind, seen in shapes.items():
        yield kind
        for place, types in sorted(seen.items()):
            yield f"  {place}{'?' * is_lacking(place, seen)} {'|'.join(sorted(types))}"


def test_names_and_commands_are_frozen() -> None:
    """None goes, none changes, and a new one is noted."""
    frozen = [line for line in FROZEN.read_text(encoding="utf-8").splitlines() if line.startswith(("ap", "assocpriv "))]
    assert [*names(), *commands(main)] == frozen


def test_json_and_files_are_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each key of JSON and of files has a type that it had, and what was always there is there."""
    monkeypatch.chdir(tmp_path)
    prepare(0)
    shapes = dict(journey())
    kind, frozen = "", dict[str, dict[str, set[str]]]()
    for line in FROZEN.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            place, _, types = line[2:].rpartition(" ")
            frozen[kind][place] = set(types.split("|"))
        elif line.startswith(("json ", "file ")):
            kind = line
            frozen[kind] = {}
    assert list(shapes) == list(frozen)
    for kind, seen in shapes.items():
        known = {place.rstrip("?"): types for place, types in frozen[kind].items()}
        news = {place: types for place, types in seen.items() if not set(types) <= known.get(place, set())}
        assert (kind, news) == (kind, {})
        assert [place for place in frozen[kind] if place[-1:] != "?" and is_lacking(place, seen)] == [], kind


if __name__ == "__main__":
    together: dict[str, Shape] = {}
    for seed in range(5):
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            prepare(seed)
            for kind, seen in journey():
                for place, types in seen.items():
                    together.setdefault(kind, {}).setdefault(place, Counter()).update(types)
    print(*names(), *commands(main), *lines(together), sep="\n")
