"""Files of rules for devices and of prices: written and read back; errors give the position."""

import json
import re
from pathlib import Path

import pytest

from assocpriv.files.model_files import RULES, digest_of, read_device_rules, rules_to_text
from assocpriv.files.plan_files import read_prices
from assocpriv.guarantees.errors import EstimateError, FileError

RULE = {"antecedents": ["tea", "cake"], "consequents": ["Käse"], "confidence": 0.612345, "lift": 1.5, "kulczynski": 1.0}


def test_rules_come_back_and_the_digest_holds_each_byte(tmp_path):
    """All that a device needs is kept, shares with four digits; each byte changes the digest."""
    file = tmp_path / "r.json"
    file.write_text(rules_to_text([RULE, RULE]), encoding="utf-8")
    first, second = read_device_rules(file, digest_of(file))
    assert first == second
    assert (first.antecedents, first.consequents, first.confidence) == (frozenset({"tea", "cake"}), ("Käse",), 0.6123)
    assert "kulczynski" not in file.read_text(encoding="utf-8")
    before = digest_of(file)
    file.write_text(file.read_text(encoding="utf-8").replace("0.6123", "0.6124"), encoding="utf-8")
    assert len(read_device_rules(file)) == 2
    with pytest.raises(FileError, match="does not have the digest"):
        read_device_rules(file, before)


def test_the_document_has_the_fields():
    """The fields that a device needs, and the optional ones, are those of the schema."""
    page = Path(__file__).parents[2] / "docs" / "formats.md"
    schema = json.loads(re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)[0])
    rule = schema["properties"]["rules"]["items"]
    fields = dict.fromkeys(rule["properties"], 0.5) | {"kulczynski": 1.0}
    written = json.loads(rules_to_text([fields], marked=True))
    assert "selected" not in rules_to_text([fields])
    assert written["format"] == schema["properties"]["format"]["const"] == RULES
    assert written["rules"][0].keys() == rule["properties"].keys()
    assert set(rule["required"]) == {"antecedents", "consequents", "confidence"}


@pytest.mark.parametrize("change", [
    {"confidence": 1.01}, {"confidence": True}, {"confidence": None}, {"antecedents": []}, {"consequents": "Käse"},
    {"consequents": [7]},
])  # fmt: skip
def test_an_invalid_rule_is_named_by_its_number(tmp_path, change):
    """And not by its content."""
    content = {"format": RULES, "version": 1, "rules": [RULE, RULE | change]}
    (tmp_path / "r.json").write_text(json.dumps(content))
    with pytest.raises(FileError, match=r"r\.json, rule 2: ") as caught:
        read_device_rules(tmp_path / "r.json")
    assert "tea" not in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"rules": []}', '{"format": "assocpriv-rules", "version": 2, "rules": []}']
)
def test_other_files_are_refused(tmp_path, text):
    """A file is refused unless it states that it holds published rules of this version."""
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(FileError, match="no published rules"):
        read_device_rules(tmp_path / "r.json")
    with pytest.raises(FileError, match="cannot read"):
        read_device_rules(tmp_path / "none.json")


def test_prices_are_read(tmp_path):
    """With or without a header, with quoted names and negative margins."""
    for head in ("", "item,price\n"):
        (tmp_path / "p.csv").write_text(head + 'tea,1.5\n"milk, fresh",-0.25\n', encoding="utf-8")
        assert read_prices(tmp_path / "p.csv") == {"tea": 1.5, "milk, fresh": -0.25}


@pytest.mark.parametrize(("encoding", "mark"), [("utf-8-sig", ";"), ("cp1252", "\t")])
def test_prices_are_read_as_spreadsheets_save_them(tmp_path, encoding, mark):
    """Semicolons or tabs, decimals with a comma, umlauts of Windows; names may have commas."""
    text = "Artikel;Marge\r\nMilch 3,5%;0,62\r\nKäse;1.10\r\n".replace(";", mark)
    (tmp_path / "p.csv").write_bytes(text.encode(encoding))
    assert read_prices(tmp_path / "p.csv") == {"Milch 3,5%": 0.62, "Käse": 1.1}


@pytest.mark.parametrize(
    "content", ["Käse,1\n".encode() + "Käse,2\n".encode("cp1252"), b"PK\3\4", b"a\0,1\n", b"\x81,1"]
)
def test_what_is_no_text_is_refused(tmp_path, content):
    """Mixed encodings, a spreadsheet, and bytes that are not text."""
    (tmp_path / "p.csv").write_bytes(content)
    with pytest.raises(FileError, match="save it as “CSV UTF-8”"):
        read_prices(tmp_path / "p.csv")
    with pytest.raises(FileError, match=r"^cannot read"):
        read_prices(tmp_path / "none.csv")


@pytest.mark.parametrize("row", ["tea,2", "milk", "milk,x", "milk,nan", "milk,1,2", "milk,1_0", "milk,٣"])
def test_a_row_that_is_not_a_price_is_named(tmp_path, row):
    """An item twice, no number, or a wrong number of cells."""
    (tmp_path / "p.csv").write_text(f"tea,1\n{row}\n", encoding="utf-8")
    with pytest.raises(EstimateError, match="row 2"):
        read_prices(tmp_path / "p.csv")
