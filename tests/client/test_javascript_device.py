"""The device's book in JavaScript: in Chromium whatever pages do, and one file with the client in Python."""

import os

import javascript
from debian_packages import program


def in_chromium(script, *given):
    """Run a script of clients/js/test that drives Chromium; every check of it must hold."""
    chromium = program("chromium", "chromium")
    done = javascript.run(
        javascript.node(), javascript.tools() / "test" / script, *given, env=os.environ | {"CHROMIUM": chromium}
    )
    assert "not ok" not in done.stdout
    return done.stdout.count("ok: ")


def test_the_ledger_in_chromium():
    """Two pages and a worker at once, pages closed, storage that fails or is cleared: one report an occasion, or none."""
    assert in_chromium("ledger-chromium.js") == 8
