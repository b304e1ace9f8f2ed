"""The dashboard: opens the warehouse, draws the filters, and runs the page that was asked for."""

import os
from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from dashboard import languages
from dashboard.components import address, brand, data, links, sidebar, view
from dashboard.errors import UserError
from dashboard.escape import markdown
from dashboard.texts import say, tell

#: Page -> its address and icon; its module is app_pages/NAME.py, its words stand under its name in words/.
PAGES = {
    "overview": ("", ":material/space_dashboard:"),
    "funnel": ("funnel", ":material/filter_alt:"),
    "no_bids": ("no_bids", ":material/do_not_disturb_on:"),
    "retries": ("retries", ":material/replay:"),
    "whatif": ("whatif", ":material/alt_route:"),
    "breakers": ("breakers", ":material/electric_bolt:"),
    "limits": ("limits", ":material/speed:"),
    "partner": ("partner", ":material/handshake:"),
    "data": ("data", ":material/database:"),
    "auction": ("auction", ":material/gavel:"),
    "order": ("order", ":material/receipt_long:"),
}

STYLE = Path(__file__).with_name("style.css")

#: Pages of one thing, reached by links: the navigation does not list them.
HIDDEN = ("auction", "order")


def warehouse() -> Path:
    """The warehouse that `retrylens serve` was given."""
    return Path(os.environ.get("RETRYLENS_WAREHOUSE") or "warehouse")


def main() -> None:
    """One rerun."""
    languages.settle()
    st.set_page_config(page_title="RetryLens", page_icon=brand.ICON, layout="wide")
    pages = {
        name: st.Page(
            f"app_pages/{name}.py",
            title=tell(f"{name}.title"),
            icon=icon,
            url_path=path,
            default=not path,
            visibility="hidden" if name in HIDDEN else "visible",
        )
        for name, (path, icon) in PAGES.items()
    }
    st.logo(brand.LOGO, icon_image=brand.ICON, size="large")
    chosen = st.navigation(list(pages.values()), position="hidden")
    place = st.sidebar.container(key="navigation", gap="xsmall")
    st.html(STYLE)
    try:
        snapshot = data.snapshot(warehouse())
    except UserError as error:
        st.title(tell("app.no_data"), anchor=False)
        st.markdown(markdown(error, 600))
        st.caption(say("app.no_data_hint"))
        navigate(place, pages)
        return
    view.remember(sidebar.choose(snapshot, pages))
    navigate(place, pages)
    with place:
        address.tidy(chosen.url_path)
    chosen.run()


def navigate(place: DeltaGenerator, pages: Mapping[str, Page]) -> None:
    """Links to the pages, each with the filters in its address: opened beside or sent, it shows what is seen here.

    Drawn after the filters, for only then the address says what was chosen.
    """
    for name, page in pages.items():
        if name not in HIDDEN:
            place.page_link(page, query_params=links.kept(), width="stretch")


main()
