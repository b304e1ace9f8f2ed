"""The logs of the iPinYou data set: given these lines, those bids, wins, impressions and clicks."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

import pytest

from ingest.rows.split import Splitter
from tests.foreign_log import Row, guessed, read, read_by_engine

TIME = "20260914190000010"
USER = ["Vh-SENTINEL", "Mozilla/5.0 (AGENT-SENTINEL)", "192.0.2.*", "80", "87", "1", "DOMAIN-SENTINEL", "URL-SENTINEL"]
SLOT = ["null", "slot", "300", "250", "1", "1", "0", "crea"]
NEW = {"bid": ["1458", "null"], "event": ["1458", "10063,10684"]}


def bid(id: str = "ip1", time: str = TIME, price: str = "300", season: int = 2) -> str:
    """A bid: in the first season without the advertiser and the user's tags."""
    return "\t".join([id, time, *USER, *SLOT, price, *(NEW["bid"] if season > 1 else [])]) + "\n"


def event(
    kind: int, id: str = "ip1", time: str = TIME, paid: str = "227", season: int = 2, more: tuple[str, ...] = ()
) -> str:
    """An event of the log type `kind`: 1 impression, 2 click, 3 conversion."""
    cells = [id, time, str(kind), *USER, *SLOT, "300", paid, "KEYPAGE-SENTINEL"]
    return "\t".join([*cells, *(NEW["event"] if season > 1 else []), *more]) + "\n"


@pytest.mark.parametrize("season", [1, 2])
def test_a_bid_is_an_auction_with_one_bid(season: int) -> None:
    row: Row = read("ipinyou", bid(season=season)).only
    assert (row["auction_id"], row["partner"], row["outcome"], row["bids"]) == ("ip1", "ipinyou", "bid", 1)
    assert (row["http_status"], row["latency_ms"], row["nbr"], row["attempt"]) == (None,) * 4
    assert (row["last_only"], row["attempt_count"]) == (True, None)


@pytest.mark.parametrize("season", [1, 2])
def test_an_impression_is_a_win_too(season: int) -> None:
    loaded = read("ipinyou", event(1, season=season))
    rows = loaded.rows["notices"]
    assert sorted(row["kind"] for row in rows) == ["impression", "win"]
    assert {(row["auction_id"], row["partner"], row["price"]) for row in rows} == {("ip1", "ipinyou", Decimal("2.27"))}
    assert loaded.counts.facts == 1


def test_a_click() -> None:
    row = read("ipinyou", event(2)).only
    assert (row["kind"], row["auction_id"], row["partner"], row["price"]) == ("click", "ip1", "ipinyou", None)


def test_the_test_sets_add_counts_of_what_followed() -> None:
    assert len(read("ipinyou", event(1, more=("1", "0"))).rows["notices"]) == 2


def test_prices_are_hundredths_of_a_yuan() -> None:
    row = read("ipinyou", bid(price="277")).only
    assert (row["price"], row["currency"]) == (Decimal("2.77"), "CNY")
    assert [read("ipinyou", bid(price=price)).only["price"] for price in ("null", "")] == [None, None]


def test_times_are_local() -> None:
    """Seventeen digits; without a declared zone they lie in China."""
    log = bid(time="20130606000104001")
    assert read("ipinyou", log).only["ts"] == datetime(2013, 6, 5, 16, 1, 4, 1_000)
    assert read("ipinyou", log, "Europe/Kyiv").only["ts"] == datetime(2013, 6, 5, 21, 1, 4, 1_000)


@pytest.mark.parametrize(
    "time", ["1789383600123", "2026091419000001", "20262026202620262", "2026-09-14T11:00:00Z", "now"]
)
def test_what_is_no_such_time_is_no_epoch_either(time: str) -> None:
    (reason,) = read("ipinyou", bid(time=time)).reasons
    assert reason.startswith("attempt: ts is ")


def test_a_conversion_is_of_no_use_here() -> None:
    nothing = "nothing in it that gives a row: attempt, win, impression, click"
    loaded = read("ipinyou", event(3) + event(2))
    assert (loaded.counts.facts, loaded.reasons) == (1, [nothing])


def test_half_matching_lines_are_rejects_with_the_part() -> None:
    short = bid().rsplit("\t", 3)[0] + "\n"
    loaded = read("ipinyou", short + bid(id="") + bid(time="") + "hello\n")
    assert loaded.reasons[0].startswith("18 cells; expected 21 (bid) or 19 (bid of the first season)")
    assert loaded.reasons[1:3] == ["attempt: auction_id is missing", "attempt: ts is missing"]
    assert loaded.reasons[3].startswith("1 cells; expected 21 (bid)")


def test_personal_values_are_never_stored() -> None:
    lines = [bid(), bid(time="now"), event(1), event(2), event(3), event(1, time="")]
    loaded = read("ipinyou", "".join(lines) + bid().rsplit("\t", 3)[0])
    assert (loaded.counts.facts, loaded.counts.rejects) == (3, 4)
    assert not [value for value in ("SENTINEL", "192.0.2", "Mozilla") if value in loaded.kept()]


def test_recognition() -> None:
    for log in (bid(), bid(season=1), event(1), event(2, season=1), event(1, more=("0", "0"))):
        assert guessed(log) == "ipinyou"


def test_long_logs_stay_with_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    log = "".join(bid(f"ip{n}") + (event(1, f"ip{n}") if n % 3 else event(2, f"ip{n}", season=1)) for n in range(600))
    whole = read("ipinyou", log)
    assert [row["auction_id"] for row in whole.rows["attempts"]] == [f"ip{n}" for n in range(600)]
    assert len(whole.rows["notices"]) == 1000
    monkeypatch.setattr(Splitter, "split", None)
    assert read_by_engine("ipinyou", log).counts == whole.counts
