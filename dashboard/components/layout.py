"""Places for panels: side by side on a wide screen, below each other on a narrow one."""

from contextlib import AbstractContextManager

import streamlit as st

NARROWEST = 400
"""Pixels below which a chart is not put beside another."""


def halves() -> tuple[AbstractContextManager[object], AbstractContextManager[object]]:
    """Two cells of equal width."""
    grid = st.grid(2, min_column_width=NARROWEST, gap="small")
    return grid.cell(), grid.cell()
