"""The address of a page as it can be sent: each filter in it once."""

import streamlit as st

ONCE = """<script>
// after a click that led to "%s"
{
  const told = [...new URLSearchParams(location.search)].map((pair) => JSON.stringify(pair));
  const once = [...new Set(told)].map((pair) => JSON.parse(pair));
  if (once.length < told.length) {
    history.replaceState(history.state, "", location.pathname + "?" + new URLSearchParams(once));
  }
}
</script>"""


def tidy(page: str) -> None:
    """Take repeated filters out of the address: a click on a link adds those of the link to those that stay.

    The browser runs this again whenever another `page` (its path) is shown.
    """
    st.html(ONCE % page, width="content", unsafe_allow_javascript=True)
