"""nginx with a configuration of the documents, for tests: in its own folder, in the foreground."""

import os
from collections.abc import Mapping
from pathlib import Path

from command_line import program


def nginx_command(home: Path, text: str, changes: Mapping[str, str]) -> list[str]:
    """Write a configuration, with changes, into a folder, and return the command that starts nginx with it."""
    for original, here in changes.items():
        assert original in text
        text = text.replace(original, here)
    parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = "".join(f"{name}_temp_path {home / name};" for name in parts)
    user = "user root;" if os.geteuid() == 0 else ""  # else its workers cannot read the folder
    path = home / "nginx.conf"
    path.write_text(f"{user} daemon off; pid {home / 'pid'}; error_log stderr; events {{}} http {{ {places}\n{text} }}")
    return [program("nginx", "nginx-light", "/usr/sbin/nginx"), "-e", "stderr", "-p", str(home), "-c", str(path)]
