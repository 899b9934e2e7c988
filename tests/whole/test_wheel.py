"""What is installed: the package's own files, and the client in JavaScript that the demonstration serves."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js" / "src"
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"


def test_the_wheel_holds_every_file(tmp_path: Path) -> None:
    """Modules, templates, and the script that a page of the collector runs, byte for byte that of clients/js."""
    sources = tmp_path / "sources"
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "assocpriv", sources / "assocpriv", symlinks=True, ignore=without)
    shutil.copytree(CLIENT, sources / "clients" / "js" / "src")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, sources)
    subprocess.run([sys.executable, "-c", BUILD, tmp_path], cwd=sources, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        held = {name: opened.read(name) for name in opened.namelist()}
    own = (
        (path, path.relative_to(ROOT)) for path in (ROOT / "assocpriv").rglob("*") if "__pycache__" not in path.parts
    )
    client = ((path, Path("assocpriv/pages/client") / path.relative_to(CLIENT)) for path in CLIENT.rglob("*.js"))
    wanted = {str(name): path.read_bytes() for path, name in [*own, *client] if path.is_file()}
    assert len([name for name in wanted if name.endswith(".js")]) > 30
    assert {name: held.get(name) for name in wanted} == wanted
