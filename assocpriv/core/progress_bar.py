"""Progress in notebooks and scripts by tqdm, for the ``progress`` of any function here."""

from typing import Any

_PATIENCE_SECONDS = 2.0


class ProgressBar:
    """A bar for each stage with its rate and the time left, shown where a stage takes more than two seconds.

    It is called with (done, total) or with (stage, done, total), as functions call their ``progress``.
    """

    _bar: Any

    def __init__(self, **options: Any) -> None:
        from tqdm.auto import tqdm

        self._make = tqdm
        self._options = {"delay": _PATIENCE_SECONDS, "leave": False, "unit_scale": True} | options
        self._stage, self._bar = "", None

    def __call__(self, *told: Any) -> None:
        """Take in that ``done`` of ``total`` steps of a stage are done."""
        stage, done, total = told if len(told) > 2 else ("", *told)
        if self._bar is None or stage != self._stage or done < self._bar.n:
            self.close()
            self._stage, self._bar = stage, self._make(total=total, desc=stage or None, **self._options)
        self._bar.total = total
        self._bar.update(done - self._bar.n)
        if done >= total:
            self.close()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None
