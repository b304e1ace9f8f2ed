"""The pages in every language: the same texts and placeholders, numbers and dates as each language writes them."""

import csv
import re
import string
import tomllib
import warnings
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import exports, languages, texts
from dashboard.charts import breakers, style
from dashboard.components import explain, grid, view
from dashboard.languages import LANGUAGES, Language
from tests import warehouses
from tests.conftest import REPOSITORY
from tests.test_pages import leave_environment, run

__all__ = ["leave_environment"]

WORDS = REPOSITORY / "dashboard" / "words"
OTHERS = sorted(set(LANGUAGES) - {"en"})
PAGES = ("overview", "funnel", "no_bids", "retries", "whatif", "breakers", "limits", "partner", "data")
NBSP = "\u00a0"

#: What has no letters to translate, or is the same word, name or sign in every language.
UNTRANSLATED = re.compile(r"^(?:[^a-z]|[A-Z]|\{[a-z_]+\}|no-bid|p50|p95|p99|sql|csv|nbr|retry-after|ms|https?)*$", re.I)


def leaves(group: dict[str, Any], inside: str = "") -> dict[str, dict[str, str]]:
    """Key -> its text by plural form; a text without forms is `other`."""
    found: dict[str, dict[str, str]] = {}
    for name, value in group.items():
        key = f"{inside}{name}"
        if isinstance(value, str):
            found[key] = {"other": value}
        elif texts.is_plural(value):
            found[key] = {form: text for form, text in value.items() if form != "by"}
        else:
            found |= leaves(value, f"{key}.")
    return found


def told(folder: Path) -> dict[str, dict[str, str]]:
    """All texts of a folder."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.toml")):
        if path.name not in texts.APART:
            found |= leaves(tomllib.loads(path.read_text(encoding="utf-8")))
    return found


def placeholders(text: str) -> set[str]:
    """Names in braces; doubled braces are put in later, and count as well."""
    return set(re.findall(r"\{+[a-z_]*\}+", text))


def in_all(forms: dict[str, str]) -> set[str]:
    """The placeholders of a text in any of its forms."""
    return set().union(*map(placeholders, forms.values()))


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a language that of this thread."""

    def choose(code: str) -> Language:
        monkeypatch.setattr(languages, "current", lambda: LANGUAGES[code])
        return LANGUAGES[code]

    return choose


# Words


@pytest.mark.parametrize("code", OTHERS)
def test_no_text_is_added_to_those_of_english(code: str) -> None:
    assert set(told(WORDS / code)) <= set(told(WORDS))


@pytest.mark.parametrize("code", OTHERS)
def test_files_are_those_of_english(code: str) -> None:
    names = {path.name for path in (WORDS / code).glob("*.toml")} - set(texts.APART)
    assert names <= {path.name for path in WORDS.glob("*.toml")}


@pytest.mark.parametrize("code", OTHERS)
def test_placeholders_are_those_of_english(code: str) -> None:
    english = told(WORDS)
    wrong = {
        key: (sorted(in_all(forms)), sorted(in_all(english[key])))
        for key, forms in told(WORDS / code).items()
        if in_all(forms) != in_all(english[key])
    }
    assert not wrong


@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_each_text_can_be_filled_in(code: str) -> None:
    for forms in told(WORDS if code == "en" else WORDS / code).values():
        for text in forms.values():
            names = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
            assert text.format(**dict.fromkeys(names, "x"))


@pytest.mark.parametrize("code", OTHERS)
def test_every_text_is_translated(code: str) -> None:
    english, own = told(WORDS), told(WORDS / code)
    missing = sorted(set(english) - set(own))
    same = sorted(key for key in own if own[key] == english[key] and not UNTRANSLATED.match("".join(own[key].values())))
    if missing or same:
        warnings.simplefilter("always")
        said = f"{code}: {len(missing)} texts missing {missing[:9]}, {len(same)} as in English {same[:9]}"
        warnings.warn(said, stacklevel=1)
    assert len(missing) + len(same) <= len(english) // 20


@pytest.mark.parametrize("code", OTHERS)
def test_translated_metrics_are_in_the_dictionary(code: str) -> None:
    files = (REPOSITORY / "ingest" / "dictionary" / "metrics").glob("*.csv")
    known = {row["name"] for path in files for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())}
    assert set(texts.dictionary(code)) <= known


@pytest.mark.parametrize("code", OTHERS)
def test_every_no_bid_code_is_translated(code: str) -> None:
    with (REPOSITORY / "ingest" / "dictionary" / "nbr.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        told = texts.codes(code)[row["code"] or row["class"]]
        assert set(told) == {"name", "owner", "remedy"}
        assert all(told[field] != row[field] for field in told), row
    assert len(texts.codes(code)) == len(rows)


def test_titles_of_outcomes_are_those_of_the_dictionary() -> None:
    with (REPOSITORY / "ingest" / "dictionary" / "outcomes.csv").open(encoding="utf-8") as file:
        assert texts.table("outcome") == {row["outcome"]: row["title"] for row in csv.DictReader(file)}


def test_a_text_that_is_missing_is_said_in_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, speak: Any) -> None:
    (tmp_path / "ru").mkdir()
    (tmp_path / "a.toml").write_text('[a]\none_text = "one"\ntwo = "two"\n', encoding="utf-8")
    (tmp_path / "ru" / "a.toml").write_text('[a]\none_text = "один"\n', encoding="utf-8")
    monkeypatch.setattr(texts, "FOLDER", tmp_path)
    monkeypatch.setattr(texts, "load", texts.load.__wrapped__)
    speak("ru")
    assert (texts.tell("a.one_text"), texts.tell("a.two")) == ("один", "two")


# Plural forms


@pytest.mark.parametrize(
    "code, form, numbers",
    [
        ("en", "one", [1]),
        ("en", "other", [0, 2, 11, 21, 1.5]),
        ("ru", "one", [1, 21, 101, 1_001]),
        ("ru", "few", [2, 4, 22, 104]),
        ("ru", "many", [0, 5, 11, 12, 14, 20, 25, 111, 112]),
        ("ru", "other", [1.5, 0.1]),
        ("uk", "one", [1, 31]),
        ("uk", "few", [3, 33]),
        ("uk", "many", [0, 13, 100]),
    ],
)
def test_plural_forms_are_those_of_cldr(code: str, form: str, numbers: list[float]) -> None:
    assert {LANGUAGES[code].plural(n) for n in numbers} == {form}


def test_a_text_takes_the_form_of_its_number() -> None:
    assert texts.say("windows.none_over", rows=1).startswith("This one window")
    assert texts.say("windows.none_over", rows=21).startswith("None of these 21 windows")
    assert texts.counted(texts.tell("unit.calls"), 1) == "call"
    assert texts.counted(texts.tell("unit.calls"), 0) == "calls"


@pytest.mark.parametrize("n, said", [(1, "1 заказ"), (3, "3 заказа"), (11, "11 заказов")])
def test_russian_has_three_forms(n: int, said: str, speak: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    forms = {"one": "{n} заказ", "few": "{n} заказа", "many": "{n} заказов"}
    own = texts.Plural.of(forms, LANGUAGES["ru"])
    monkeypatch.setattr(
        texts, "load", lambda code: {"a": own, "b": texts.Plural.of({"other": "{n} x"}, languages.ENGLISH)}
    )
    speak("ru")
    assert texts.tell("a", n=n) == said
    assert texts.tell("b", n=n) == f"{n} x"


# Numbers and dates


@pytest.mark.parametrize(
    "code, count, percent, decimal, span",
    [
        ("en", "1,234,567", "12.5%", "1.250", "2.1 days"),
        ("ru", f"1{NBSP}234{NBSP}567", f"12,5{NBSP}%", "1,250", f"2,1{NBSP}дн."),
        ("uk", f"1{NBSP}234{NBSP}567", f"12,5{NBSP}%", "1,250", f"2,1{NBSP}дн."),
    ],
)
def test_numbers_are_written_as_the_language_does(
    code: str, count: str, percent: str, decimal: str, span: str, speak: Any
) -> None:
    language = speak(code)
    assert style.count(1_234_567) == count
    assert style.percent(0.125) == percent
    assert style.number(1.25, ".3f") == decimal
    assert breakers.duration(2.1 * 86_400) == span
    drawn = style.frame(go.Figure(), 100)
    assert drawn.layout.separators == language.decimal + language.thousands


@pytest.mark.parametrize("code, written", [("en", "2026-11-29 08:07:06"), ("ru", "29.11.2026 08:07:06")])
def test_dates_are_written_as_the_language_does(code: str, written: str, speak: Any) -> None:
    speak(code)
    assert view.clock(datetime(2026, 11, 29, 8, 7, 6)) == written


def test_tables_write_dates_and_decimals_as_the_language_does(speak: Any) -> None:
    moments = pd.Series([datetime(2026, 11, 29)])
    assert grid.column("ts", moments)["type_config"]["format"] == "YYYY-MM-DD HH:mm:ss"
    speak("uk")
    assert grid.column("ts", moments)["type_config"]["format"] == "DD.MM.YYYY HH:mm:ss"
    assert grid.column("p50_ms", pd.Series([1.5]))["type_config"]["format"] == "localized"


@pytest.mark.parametrize(
    ("name", "values", "widened"),
    [
        ("bids", [0.5, None], True),
        ("bids", [0.5, 2.0], False),
        ("bids", [1_234_567.5, None], False),
        ("such_retries_made", [3, None], False),
        ("bids", ["0.5", None], False),
    ],
)
def test_a_narrow_column_of_numbers_has_room_for_the_word_unknown(name: str, values: list[Any], widened: bool) -> None:
    assert (grid.column(name, pd.Series(values), "unknown")["width"] is not None) == widened


def test_a_metric_is_explained_in_the_language(monkeypatch: pytest.MonkeyPatch, speak: Any) -> None:
    row = {"name": "calls.calls", "title": "Calls", "definition": "All.", "numerator": "", "denominator": ""}
    monkeypatch.setattr(texts, "dictionary", lambda code: {"calls.calls": {"title": "Вызовы"}} if code == "ru" else {})
    speak("ru")
    assert explain.metric({"calls.calls": row}, "calls.calls") == "**Вызовы**: All\\."


# Pages


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warehouses.simulated(tmp_path_factory.mktemp("simulated"))


def again(test: AppTest) -> AppTest:
    """One more run."""
    test.run()
    assert not test.exception, [error.value for error in test.exception]
    return test


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("code", OTHERS)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_runs_in_every_language(simulated: Path, page: str, code: str) -> None:
    test = run(simulated, page, range="All", language=code)
    title = texts._walk(f"{page}.title", code)
    assert test.title[0].value == title != texts.tell(f"{page}.title")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_language_is_chosen_once_and_keeps_what_was_chosen(simulated: Path) -> None:
    test = run(simulated, "limits", range="All", partner="key-x", zone="Europe/Kyiv")
    english = test.title[0].value
    test.selectbox(key=languages.KEY).set_value("uk")
    assert again(test).title[0].value != english
    assert test.selectbox(key="range").value == "All"
    assert test.multiselect(key="partner").value == ["key-x"]
    assert test.selectbox(key="zone").value == "Europe/Kyiv"
    test.switch_page("app_pages/data.py")
    assert again(test).title[0].value == texts._walk("data.title", "uk")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_a_page_asks_stays_chosen_when_the_language_changes(simulated: Path) -> None:
    test = run(simulated, "retries", range="All", stream="postback")
    assert test.segmented_control(key="stream").value == "postback"
    test.selectbox(key=languages.KEY).set_value("ru")
    assert again(test).segmented_control(key="stream").value == "postback"
    assert again(test).segmented_control(key="stream").value == "postback"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("code", sorted(LANGUAGES))
def test_an_address_is_understood_in_whatever_language_it_was_written(simulated: Path, code: str) -> None:
    written = str(texts._walk("range.All", code))
    assert run(simulated, "data", range=written, language="uk").selectbox(key="range").value == "All"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tables_for_machines_know_no_language(simulated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[bytes] = []
    original = exports.offer

    def offer(stem: str, told: Sequence[object], source: exports.Source, ending: str) -> str:
        with exports.make(*(address := original(stem, told, source, ending)).split("/")[1:]) as file:
            saved.append(file.read())
        return address

    monkeypatch.setattr(exports, "offer", offer)
    run(simulated, "no_bids")
    english = list(saved)
    saved.clear()
    run(simulated, "no_bids", language="ru")
    assert english
    assert saved == english
