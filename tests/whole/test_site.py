"""The documentation site builds without network or warnings, loads nothing from elsewhere, and can be searched."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest

import assocpriv as ap

ROOT = Path(__file__).parents[2]
if importlib.util.find_spec("sphinx") is None:
    pytest.skip("the site needs the extra assocpriv[docs]", allow_module_level=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; every warning is an error."""
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-d", place / "doctrees"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "https_proxy": "http://127.0.0.1:9"}  # where nobody answers
    done = subprocess.run(
        [*command, ROOT / "docs", place / "html"], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return place / "html"


class Page(HTMLParser):
    """What a page loads, what it links to, and the names within it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        given = {name: value or "" for name, value in attrs}
        self.names |= {given[name] for name in ("id", "name") if name in given}
        if tag in ("script", "img", "iframe", "source") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon", "modulepreload"):
            self.loaded.append(given["href"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


def test_pages_load_nothing_from_elsewhere_and_link_to_what_is_there(site: Path) -> None:
    """Scripts, styles and pictures are the site's own; links within it lead to a page, and to a name on it."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    assert 25 < len([*(ROOT / "docs").rglob("*.md")]) <= 33 < len(pages)  # what says the same is one page
    assert any("demo.svg" in each for each in pages[(site / "index.html").resolve()].loaded)
    dead = []
    for path, page in pages.items():
        assert not [each for each in page.loaded if re.match(r"(https?:)?//", each)], path
        for link in page.links:
            where, _, name = link.partition("#")
            if re.match(r"[a-z]+:", link) or path.name in ("search.html", "genindex.html", "py-modindex.html"):
                continue
            target = (path.parent / where).resolve() if where else path
            if (target in pages and name and name not in pages[target].names) or not target.exists():
                dead.append(f"{path.name}: {link}")
    assert dead == []


def test_commands_functions_and_mathematics_are_there(site: Path) -> None:
    """Options and docstrings come from the code, formulas are mathematics, and a file of the site has the words."""
    assert all(word in (site / "searchindex.js").read_text("utf-8") for word in ("breach", "reconstruct", "ledger"))
    commands = "".join(page.read_text(encoding="utf-8") for page in (site / "cli").glob("*.html"))
    assert ">--detect<" in commands  # two hyphens, as they are typed
    assert all(f">{word}" in commands for word in ("--min-support", "--reports-per-person", "--check-manipulation"))
    functions = (site / "python.html").read_text(encoding="utf-8")
    assert all(f'id="{name}"' in functions for name in ("assocpriv.mine", "assocpriv.reconstruct"))
    why = (site / "why-it-works.html").read_text(encoding="utf-8")
    assert why.count("<math") > 20
    assert "$" not in re.sub(r"<script.*?</script>", "", why, flags=re.DOTALL)


def test_every_public_name_is_documented(site: Path) -> None:
    """Every public name of the package and its public modules has an entry; ``show`` is for commands."""
    entries = Page(site / "python.html").names
    modules = [each for name in ap.__all__ if name != "show" and isinstance(each := getattr(ap, name), ModuleType)]
    assert len(modules) == 12
    assert all(f"module-{each.__name__}" in entries for each in modules)
    for front in (ap, *modules):
        names = [name for name in front.__all__ if not isinstance(getattr(front, name), ModuleType)]
        assert [name for name in names if f"{front.__name__}.{name}" not in entries] == []
        assert len(front.__all__) > 2
