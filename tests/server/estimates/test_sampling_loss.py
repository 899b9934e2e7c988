"""What supports lose where people hold more than M entries of their block."""

import pytest

from assocpriv.server.estimates.sampling_loss import SizesInBlocks

HALF_FULL = SizesInBlocks((1.0, 0.8, 0.4))


def test_a_block_of_m_entries_loses_nothing() -> None:
    """Nobody holds more entries than a block has, so that M of M are all."""
    assert HALF_FULL.lost_share(1, most=2) == 0
    assert HALF_FULL.lost_share(2, most=2) == 0


def test_what_is_beyond_a_block_is_held_at_its_end() -> None:
    """With three entries in a block the ratio .5 beyond M = 2 puts half of the full on 3, of which one is lost."""
    kept = 0.4 * 1 + 0.4 * 2
    assert HALF_FULL.lost_share(1, most=3) == pytest.approx(0.4 * 0.5 * 1 / kept)
    assert HALF_FULL.lost_share(1, most=3) < HALF_FULL.lost_share(1, most=4) < HALF_FULL.lost_share(1)
