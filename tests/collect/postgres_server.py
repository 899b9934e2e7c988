"""A PostgreSQL server of the tests' own: its settings as shipped, on a socket in a folder of its own."""

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
    """A server, made with its program ``initdb`` and started; ``url`` has the password."""

    def __init__(self, initdb: str) -> None:
        self._programs = Path(initdb).parent
        self.folder = Path(
            tempfile.mkdtemp(prefix="pg", dir=MEMORY or "/tmp")
        )  # a socket's path has room for 100 characters
        root = os.geteuid() == 0  # whom it does not run for
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
        with open(self.folder / "said", "ab") as said:
            subprocess.run(command, check=True, cwd="/", stdout=said, stderr=said, **self._as)

    def start(self, *settings: str) -> None:
        """Start it, with settings like fsync=off."""
        options = " ".join(["-c listen_addresses=''", f"-k {self.folder}", *(f"-c {each}" for each in settings)])
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "-o", options, "start")

    def stop(self, how: str = "immediate") -> None:
        """Stop it; immediately is as after a crash: nothing is written any more."""
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
        """Stop it for good."""
        self.stop()
        shutil.rmtree(self.folder)
