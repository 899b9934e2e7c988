"""The simulated day of the anonymous channel: who can link, and that the guesses are able to."""

from bench.accuracy import links


def test_no_party_alone_links_reports() -> None:
    """Of 500 devices chance is one; a number above 11 has a probability below 10^-9 for each party."""
    linked = {(row["party"], row["knows"]): row["linked"] for row in links.run(500)["links"]}
    unable = [party for party in linked if party[0] in ("disk thief alone", "relay alone", "collector and disk")]
    unable += [party for party in linked if "pinned" in party[1] or "within a day" in party[1]]
    assert len(unable) == 5
    assert all(linked[party] <= 11 for party in unable)
    # who asks for the key while sending, and whose relay works with the collector, is known among few
    able = [linked[party] for party in linked if "while sending" in party[1] or "everything" in party[1]]
    assert len(able) == 2
    assert all(each > 250 for each in able)
