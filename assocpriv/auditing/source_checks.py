"""Source checks of our clients: the only changing input that they import or read is the operating system's entropy.

The imports say which modules make up a client. A client may import listed modules only. It may not name a clock, other
random numbers, a hash seed, the environment, a file, a process or a location, nor build such a name at run time.
Exceptions of a few modules are listed below, each with its reason.

Python is read as a syntax tree. JavaScript is read as a list of tokens without strings and comments. Allowed members of
``Math``, ``crypto`` and ``globalThis`` are listed, so that other ways to the same result are found as well.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from assocpriv.auditing.findings import BROKEN, CONSISTENT, SOURCE, Fault, Finding

PACKAGE = Path(__file__).parents[1]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PURE = _words(
    "abc array assocpriv base64 bisect bitarray codecs collections concurrent contextlib cryptography csv dataclasses "
    "decimal errno fcntl fractions functools gzip hashlib heapq hmac http io ipaddress itertools json logging "
    "math narwhals numbers numpy openpyxl operator os pathlib pyhpke pyspark re scipy shlex shutil sqlite3 ssl "
    "struct threading types typing unicodedata urllib zipfile zlib"
)
_CALLS = _words("eval exec compile __import__ hash id globals locals vars input open")
_ATTRIBUTES = _words(
    "random environ environb getenv getpid getppid urandom getrandom times getloadavg __dict__ __globals__ "
    "__builtins__ __subclasses__ __hash__ modules perf_counter monotonic time _time time_ns datetime64 now utcnow "
    "today numpy.random scipy.stats stat st_mtime cpu_count open read_text read_bytes fromfile memmap listdir scandir "
    "iterdir glob"
)
_PACKAGES = _words("client guarantees kernels plans records files")  # spark/ moves data, and makes no report
# module -> further names that it may use, with the reason
_REASONS = {
    "guarantees/entropy.py": "secrets",  # the only source of the random words of reports
    "client/ledger.py": "secrets getpid open",  # ids of submissions; a forked process must reopen the ledger
    "client/ledger_file.py": "stat time monotonic open",  # the owner of the file; the waiting time for a lock
    "client/spark_client.py": "secrets",  # file names
    "client/connection.py": "secrets socket time now monotonic",  # pauses before a request is repeated
    "client/upload.py": "open",  # the ledger; here and below given or kept files
    "client/guided/guided_client.py": "open read_bytes",
    "files/atomic.py": "urandom glob open",  # names of unfinished files
    "files/oblivious_http.py": "secrets open",  # keys of encrypted messages; decryption is called open
    "files/open_batches.py": "secrets listdir read_bytes open stat",  # names; whether a file was replaced
    "files/plan_files.py": "open",
    "files/report_files.py": "datetime stat st_mtime glob open read_bytes",  # time and change of a file
    "kernels/parallel.py": "sys psutil cpu_count read_text",  # numbers of cores and memory
    "plans/baskets/catalogue.py": "hash",  # of equal catalogues
    "plans/numeric/table_plan.py": "getattr",  # fields by name, here and below
    "plans/baskets/generator.py": "getattr",
    "plans/guided/guided_plan.py": "sys",  # the range of floats
    "plans/registry.py": "getattr importlib",  # parts of plan types, and below renderers
    "plans/baskets/operator.py": "getattr",
    "plans/published_plan.py": "getattr",
    "plans/result_display.py": "pkgutil pandas",  # data frames of results, none of which is a report
    "plans/numeric/tree_model.py": "sys",
    "guarantees/errors.py": "vars",  # options
    "guarantees/shuffle_model.py": "getattr scipy.stats",  # a central guarantee's proof
    "records/layout.py": "getattr",
    "records/layout_detection.py": "getattr",
    "records/baskets.py": "uuid",  # given ids, here and below
    "records/columns.py": "uuid",
    "records/sheets.py": "datetime open",  # dates in cells; parts of a workbook
    "records/basket_sources.py": "stat open",
}
_JS_IMPORT = re.compile(r'(?:^|\n)\s*(?:import|export)\b[^;]*?["\'](\.[^"\']+)["\']')
_JS_TOKEN = re.compile(
    r"(?P<skip>//[^\n]*|/\*.*?\*/|\s+)|(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"
    r"|(?P<name>\#?[A-Za-z_$][\w$]*)|(?P<mark>.)", re.DOTALL,
)  # fmt: skip
_JS_NAMES = _words(
    "Date performance process navigator Intl eval Function Reflect Proxy Temporal Worker require WebAssembly "
    "constructor SharedArrayBuffer Atomics setTimeout setInterval random __proto__ hrtime randomUUID "
    "randomBytes global window self frames File Event timeStamp lastModified"
)
_JS_MEMBERS = {
    "Math": _words("floor ceil max min abs clz32 round sqrt log log2 log10 exp log1p expm1 imul fround hypot trunc"),
    "crypto": _words("getRandomValues subtle"),
    "globalThis": _words("crypto"),
}
_JS_SENDERS = ("/device/", "/node/")  # folders that send finished reports: clocks, stores, requests
_JS_SENDING = _words("Date setTimeout navigator performance process globalThis crypto import()")


def scan_package(package: Path | None = None) -> list[Finding]:
    """Check the sources of our Python clients: the folder client/, its kernels, and all modules that these import."""
    root = package or PACKAGE
    left, found, seen = [*(root / "client").rglob("*.py"), *(root / "kernels").glob("*.py")], [], set[Path]()
    while left:
        file = left.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        imported, ambient = _scan(file.read_text(encoding="utf-8"))
        own = [parts[1:end] for parts in imported for end in (3, 4, 5) if parts[0] == "assocpriv"]
        left += [root.joinpath(*parts).with_suffix(".py") for parts in own if parts[0] in _PACKAGES]
        name = file.relative_to(root).as_posix()
        found += [(name, each) for each in ambient if each not in _REASONS.get(name, "").split()]
    return [_finding(sorted(set(found)), len(seen))]


@lru_cache(maxsize=256)
def _scan(text: str) -> tuple[list[list[str]], set[str]]:
    """Return a module's imports, split at the dots, and the names in it whose value may change from run to run."""
    imported, ambient = list[list[str]](), set[str]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            of = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for parts in ((of + alias.name).split(".") for alias in node.names):
                imported.append(parts)
                ambient |= {parts[0]} - _PURE or {".".join(parts[:2]), parts[-1]} & _ATTRIBUTES
        elif isinstance(node, ast.Attribute):
            ambient |= {node.attr} & _ATTRIBUTES
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.args[1] if node.func.id == "getattr" else None
            unknown = name is not None and not isinstance(name, ast.Constant)
            if node.func.id in _CALLS or unknown or getattr(name, "value", None) in _ATTRIBUTES | _CALLS:
                ambient.add(node.func.id)
    return imported, ambient


def scan_script(script: Path) -> list[Finding]:
    """Check the sources of a JavaScript client: the file and the modules that it imports."""
    found, seen, left = [], set[Path](), [script.resolve()]
    while left:
        file = left.pop()
        if file in seen:
            continue
        seen.add(file)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise Fault(f"The program's source {file.name} cannot be read.") from None
        left += [(file.parent / name).resolve() for name in _JS_IMPORT.findall(text)]
        named = set(_js_ambient(text))
        sends = file == script.resolve() or any(part in file.as_posix() for part in _JS_SENDERS)
        found += [(file.name, name) for name in sorted(named - (_JS_SENDING if sends else set()))]
    return [_finding(found, len(seen))]


def _js_ambient(text: str) -> Iterator[str]:
    tokens = [(match.lastgroup, match.group()) for match in _JS_TOKEN.finditer(text) if match.lastgroup != "skip"]
    tokens += [("mark", "")] * 4
    for place, (kind, word) in enumerate(tokens[:-4]):
        after = [each for _, each in tokens[place + 1 : place + 5]]
        before, before_two = (tokens[place - step][1] if place >= step else "" for step in (1, 2))
        if (
            kind == "name"
            and word in _JS_NAMES
            and not (word == "constructor" and (before != "." or before_two == "this"))
            and not (after[0] == ":" and before in ("{", ","))  # the key of an object
        ):
            yield word
        if word in _JS_MEMBERS:
            member = after[2] if after[:2] == ["?", "."] else after[1] if after[0] == "." else ""
            if member not in _JS_MEMBERS[word]:
                yield word
        if word == "import" and after[0] == "(":
            yield "import()"
        if word == "[" and after[0][:1] in ("'", '"', "`") and tokens[place - 1][0] == "name" and after[1] != ",":
            yield "a computed member"


def _finding(wrong: list[tuple[str, str]], files: int) -> Finding:
    if wrong:
        names = "; ".join(f"{file} names {name}" for file, name in wrong[:5])
        return Finding(SOURCE, "source", BROKEN, f"The client's code may use other input than its record: {names}.")
    message = f"The {files} modules of the client use no changing input but the operating system's entropy."
    return Finding(SOURCE, "source", CONSISTENT, message, {"modules": files})
