"""What an Arrow table says beside its cells, for a release: only what is needed to read the cells as they are.

Nobody checks metadata, and they may hold raw values: levels of a factor, notes, ``attrs`` of pandas.
"""

import contextlib
import json
from collections.abc import Collection
from typing import Any

_PANDAS = b"pandas"
_OF_PANDAS = ("index_columns", "column_indexes", "columns", "creator", "pandas_version")
_EXTENSION = b"ARROW:extension:"
_OF_TEXT = ("unicode", "object")  # without metadata of their own
_TEXT = {"pandas_type": "unicode", "numpy_type": "object", "metadata": None}


def released_schema(schema: Any, changed: Collection[str] = ()) -> Any:
    """Return a schema without metadata, but for extension types, and what pandas needs to read index and dtypes.

    Columns that were ``changed`` hold text now, and are described as such.
    """
    import pyarrow as pa

    fields = []
    for field in schema:
        known = {} if field.name in changed else field.metadata or {}
        kept = {key: value for key, value in known.items() if key.startswith(_EXTENSION)}
        fields.append(field.with_metadata(kept or None))
    said = _of_pandas((schema.metadata or {}).get(_PANDAS), changed)
    return pa.schema(fields, None if said is None else {_PANDAS: json.dumps(said).encode()})


def released_frame(frame: Any, changed: Collection[str] = ()) -> Any:
    """Return a pandas, polars or pyarrow table without metadata, as :func:`released_schema`."""
    if hasattr(frame, "attrs"):
        frame = frame.copy(deep=False)
        frame.attrs = {}
    return frame.cast(released_schema(frame.schema, changed)) if hasattr(frame, "replace_schema_metadata") else frame


def _of_pandas(text: bytes | None, changed: Collection[str]) -> dict[str, Any] | None:
    if text is None:
        return None
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):  # nobody says that pandas wrote it
        kept = {key: value for key, value in json.loads(text).items() if key in _OF_PANDAS}
        return kept | {
            "index_columns": kept["index_columns"],
            "columns": [
                one | _TEXT if one["field_name"] in changed and one["pandas_type"] not in _OF_TEXT else one
                for one in kept["columns"]
            ],
        }
    return None
