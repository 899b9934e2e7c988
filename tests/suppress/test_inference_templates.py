"""Templates: exact reading, and refused templates."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from assocpriv.guarantees.errors import TemplateError
from assocpriv.suppress.inference_templates import Template, bounds, read_templates

TOML = """
[[template]]
channel = ["Job", "Country"]
sensitive = { Bankruptcy = ["Discharged", "Current"], Child = ["Yes"] }
confidence = {h}
"""
JSON = '[{"channel": ["Job", "Country"], "sensitive": {"Bankruptcy": ["Discharged"]}, "confidence": {h}}]'


@pytest.mark.parametrize("text", [TOML, JSON])
@pytest.mark.parametrize(
    ("written", "meant"), [("0.1", "1/10"), ('"0.07"', "7/100"), ('"75%"', "3/4"), ('"2/3"', "2/3")]
)
def test_confidence_as_written(tmp_path: Path, text: str, written: str, meant: str) -> None:
    """A confidence is the exact number of a file, not the nearest float; TOML and JSON agree."""
    path = tmp_path / "templates"
    path.write_text(text.replace("{h}", written))
    (template,) = read_templates(path)
    assert template.confidence == Fraction(meant)
    assert template.channel == ("Job", "Country")


def test_each_value_is_bounded_on_its_own() -> None:
    """A template is one bound for each of its sensitive values."""
    template = Template(["a"], {"s": ["x", "y"], "t": [1]}, "50%")  # type: ignore[list-item]
    assert [(each.column, each.value) for each in bounds([template])] == [("s", "x"), ("s", "y"), ("t", "1")]


GOOD = {"channel": ["a"], "sensitive": {"s": ["x"]}, "confidence": 0.5}
OVER_ITEMS = {"channel": ["a"], "sensitive": ["s"], "confidence": 0.5}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "there are no templates"),
        (GOOD, "templates are a list"),
        ([{"channel": ["a"], "sensitive": {"s": ["x"]}}], "template 1: a template has channel, sensitive"),
        ([GOOD, GOOD | {"channel": "a"}], "template 2: .*channel must be a list"),
        ([GOOD | {"channel": []}], "channel must be a list"),
        ([GOOD | {"sensitive": {"s": [" "]}}], "sensitive values of s: entry 1"),
        ([GOOD | {"sensitive": {}}], "sensitive must map columns"),
        ([GOOD | {"channel": ["a", "s"]}], "in its own channel"),
        ([GOOD | {"confidence": 0}], "between 0 and 1, both excluded"),
        ([GOOD | {"confidence": "100%"}], "between 0 and 1, both excluded"),
        ([GOOD | {"confidence": 75}], "did you mean '75%'"),
        ([GOOD, OVER_ITEMS], "template 2: some templates are over columns, and some over items"),
    ],
)
def test_templates_that_break_a_rule(content: Any, message: str) -> None:
    """A template that breaks a rule is refused with its place and the rule; other types are refused by type."""
    with pytest.raises(TemplateError, match=message):
        read_templates(content)
    with pytest.raises(TypeError, match="templates must be a list or the path of a file, got a NoneType"):
        read_templates(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[{", "not valid JSON"),
        (b'[{"channel": ["a"], "channel": ["b"]}]', "a key appears twice"),
        (b'{"template": []}', "or a list in JSON"),
        (b"channel = [", "not valid TOML: "),
        (b"[[templates]]\nchannel = []", r"only \[\[template\]\] tables in TOML"),
        (b"[]", "there are no templates"),
        (b"", r"only \[\[template\]\] tables in TOML"),
        (b"\xe4", "must be text in UTF-8"),
        (None, "templates cannot be read"),
    ],
)
def test_files_without_templates(tmp_path: Path, content: bytes | None, message: str) -> None:
    """A file that is missing, neither TOML nor JSON, or holds something else, is refused with its name."""
    path = tmp_path / "templates.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TemplateError, match=message) as caught:
        read_templates(path)
    assert str(caught.value).startswith(str(path))
