"""Addresses of pages that can be kept and sent: what they show, in the range and zone in which it was looked at."""

import shlex
from collections.abc import Iterable, Mapping
from html import escape
from urllib.parse import urlencode

import streamlit as st

from dashboard.components.data import Row
from dashboard.components.view import View
from dashboard.escape import plain
from dashboard.text import visible
from dashboard.texts import say

KEPT = ("range", "from", "to", "partner", "compare", "incidents", "zone", "language")
"""Filters that go with a link."""

LONGEST_COMMAND = 300


def address(view: View, page: str, **wanted: str | None) -> str:
    """The address of a page below this one's, for the cell of a table; values that are None are left out."""
    values = [(name, value) for name, value in wanted.items() if value is not None]
    values += [(name, value) for name, listed in kept().items() for value in listed]
    return f"{view.page(page).url_path}?{urlencode(values, errors='replace')}"


def kept() -> dict[str, list[str]]:
    """The filters of this page as its address tells them, each value once: a click on a link repeats them there."""
    return {name: list(dict.fromkeys(listed)) for name in KEPT if (listed := st.query_params.get_all(name))}


def query(**wanted: str | None) -> dict[str, str | list[str]]:
    """What a link to a page asks for, as that page reads it from its address, and the filters of this one."""
    return {name: plain(value) for name, value in wanted.items() if value is not None} | kept()


def auctions(view: View, ids: Iterable[object]) -> list[str | None]:
    """The address of each auction."""
    return _addresses(view, "auction", [None if one is None else {"auction": str(one)} for one in ids])


def orders(view: View, rows: Iterable[Row]) -> list[str | None]:
    """The address of the order that each row is about."""
    return _addresses(view, "order", [None if row["external_order_id"] is None else named(row) for row in rows])


def _addresses(view: View, page: str, wanted: Iterable[Mapping[str, str | None] | None]) -> list[str | None]:
    """Many addresses as `address` writes each; the filters are read once."""
    path, tail = view.page(page).url_path, urlencode(kept(), doseq=True, errors="replace")
    found: list[str | None] = []
    for one in wanted:
        head = urlencode({name: value for name, value in (one or {}).items() if value is not None}, errors="replace")
        found.append(None if one is None else f"{path}?{'&'.join(filter(None, (head, tail)))}")
    return found


def named(row: Row) -> dict[str, str | None]:
    """What names an order in an address: its id, tenant (the key where unknown) and event type."""
    tenant = row.get("tenant") or row.get("key_id") or row.get("key")
    return {"order": row["external_order_id"], "tenant": tenant, "event_type": row.get("event_type")}


def to_auction(view: View, auction_id: str) -> None:
    """A link to an auction."""
    st.page_link(
        view.page("auction"),
        label=say("links.auction", auction=auction_id),
        icon=":material/arrow_forward:",
        query_params={"auction": auction_id, **kept()},
    )


def to_order(view: View, row: Row) -> None:
    """A link to the order that a row is about, if it is about one."""
    if row["external_order_id"] is None:
        st.caption(say("links.no_order"))
        return
    wanted = {name: value for name, value in named(row).items() if value is not None}
    st.page_link(
        view.page("order"),
        label=say("links.order", order=row["external_order_id"]),
        icon=":material/arrow_forward:",
        query_params={**wanted, **kept()},
    )


def to_partner(view: View, partner: str) -> None:
    """A link to a partner's page."""
    st.page_link(
        view.page("partner"),
        label=say("links.partner", partner=partner),
        icon=":material/handshake:",
        query_params=query(name=partner),
    )


def command(text: str, table: str, option: str, wanted: str) -> None:
    """The command that gives the same rows, to be copied; none for an id that no shell would take in one line."""
    line = shlex.join(["retrylens", "show", table, option, wanted])
    if len(line) <= LONGEST_COMMAND and line == visible(line):
        st.caption(text)
        st.code(line, language="shell", wrap_lines=True)


def to_files(files: Mapping[str, str], about: str) -> None:
    """Links that save a file each and leave the page as it is: their words, and the files' addresses."""
    listed = [
        f'<a href="{escape(address)}" download="{escape(address.rpartition("/")[2])}" title="{escape(about)}"'
        ' style="color: inherit; text-decoration: underline; text-underline-offset: 0.2em">'
        f"&#8595; {escape(words)}</a>"
        for words, address in files.items()
    ]
    st.html(f'<div style="display: flex; flex-wrap: wrap; gap: 1.25rem">{"".join(listed)}</div>')
