"""A PostgreSQL server for tests, with default settings, on a socket in its own folder."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from running_collector import MEMORY

USER, PASSWORD = "collector", "CANARY%/@:pw"
QUOTED = "CANARY%25%2F%40%3Apw"


class Server:
    """A server, made with ``initdb`` and started; ``url`` has the password."""

    def __init__(self, initdb: str) -> None:
        self._programs = Path(initdb).parent
        # a socket's path has room for 100 characters
        self.folder = Path(tempfile.mkdtemp(prefix="pg", dir=MEMORY or "/tmp"))
        root = os.geteuid() == 0  # PostgreSQL does not run as root
        self._as = {"user": "postgres", "group": "postgres", "extra_groups": []} if root else {}
        if root:
            shutil.chown(self.folder, "postgres", "postgres")
        (self.folder / "password").write_text(PASSWORD)
        (self.folder / "password").chmod(0o644)
        self._run("initdb", "--no-sync", f"--username={USER}", "--auth=scram-sha-256", "--encoding=UTF8",
                  "--locale=C", f"--pwfile={self.folder / 'password'}")  # fmt: skip
        self.url = f"postgresql://{USER}:{QUOTED}@/postgres?host={self.folder}"
        self.start()

    def _run(self, program: str, *options: str) -> None:
        command = [f"{self._programs}/{program}", "-D", str(self.folder / "data"), *options]
        with open(self.folder / "output", "ab") as output:
            subprocess.run(command, check=True, cwd="/", stdout=output, stderr=output, **self._as)

    def start(self, *settings: str) -> None:
        """Start it, with settings such as fsync=off."""
        options = " ".join(["-c listen_addresses=''", f"-k {self.folder}", *(f"-c {each}" for each in settings)])
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop it; ``immediate`` writes nothing more, as a crash."""
        self._run("pg_ctl", "-w", "-m", how, "stop")

    def ask(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text)
            return cursor.fetchall() if cursor.description else []

    def forget(self) -> None:
        """Remove all collections."""
        for (schema,) in self.ask("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'assocpriv%'"):
            self.ask(f"DROP SCHEMA {schema} CASCADE")

    def remove(self) -> None:
        """Stop it and remove its folder."""
        self.stop()
        shutil.rmtree(self.folder)
