"""The audit of the kind: γ from the text, the client's reports made again, and how often it says yes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assocpriv.auditing.clients import Batch, ClientReports, Ours
from assocpriv.auditing.findings import BROKEN, CONSISTENT, PROMISE, Finding
from assocpriv.auditing.recompute_reports import Draws
from assocpriv.auditing.subject import Look, Subject
from assocpriv.promise.breaches import read_fraction
from assocpriv.promise.entropy import SystemEntropy
from tests.second_kind import client


class AnswerSubject(Subject):
    """A plan of the kind under audit; a record is ``yes`` or ``no``."""

    @staticmethod
    def promise(_plan: Any, text: str) -> list[Finding]:
        """Recompute the amplification."""
        content = json.loads(text)
        prior, posterior = (read_fraction(content["promise"][name], name) for name in ("prior", "posterior"))
        together = Fraction(content["truth"], content["lie"]) ** content["reports_per_person"]
        kept = together < posterior * (1 - prior) / (prior * (1 - posterior))
        return [Finding(PROMISE, "amplification", CONSISTENT if kept else BROKEN, f"γ is {together}.")]

    @property
    def clients(self) -> Mapping[str, Ours]:
        """The client of one answer."""

        def single(batch: Batch) -> Iterator[ClientReports]:
            made = [client.randomize_answer(each, self.plan, entropy=SystemEntropy()) for each in batch.given]
            yield ClientReports.of_reports(made, 1)

        return {"single": Ours(single)}

    def batch(self, records: Sequence[str]) -> Batch:
        """Return answers as lists of words."""
        return Batch([[record] for record in records], records)

    def lines(self, batch: Batch) -> bytes:
        """Return an answer a line."""
        return "".join(f"{record}\n" for record in batch.records).encode("ascii")

    def device_record(self, record: str) -> list[str]:
        """Return an answer as a device takes it."""
        return [record]

    def various(self, count: int) -> list[list[str]]:
        """Return both answers in turn."""
        return [["yes", "no"] * -(-count // 2)]

    def remake(self, record: str, words: Draws) -> bytes:
        """Return the answer, or with the chance of a lie the other one."""
        lies = words.pick([self.plan.truth, self.plan.truth + self.plan.lie])
        return bytes([(record == "yes") ^ lies])

    def chosen(self) -> list[list[str]]:
        """Return both answers."""
        return [["yes", "no"]]

    def looks(self, packed: NDArray[np.uint8], record: str) -> Iterator[Look]:
        """Yield how often yes is said."""
        lie = self.plan.lie / (self.plan.truth + self.plan.lie)
        yield Look("answers", packed, np.array([1 - lie if record == "yes" else lie]))
