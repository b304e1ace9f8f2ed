"""What `retrylens serve` runs: the pages, and beside them the files that they offer."""

import gc
import os
from pathlib import Path
from urllib.parse import quote

import pandas  # noqa: F401  pages need it: loaded before the first one is asked for
import plotly.graph_objects as go
import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from dashboard import exports
from dashboard.errors import UserError

GONE = 410


async def export(request: Request) -> Response:
    """A file that a page offers, as an attachment."""
    token, name = request.path_params["token"], request.path_params["name"]
    try:
        file = await run_in_threadpool(exports.make, token, name)
    except UserError as error:
        return PlainTextResponse(f"{error}\n", GONE)
    return StreamingResponse(
        exports.pieces(file),
        media_type=exports.MEDIA[name.rpartition(".")[2]],
        headers={
            "content-disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}",
            "content-length": str(os.fstat(file.fileno()).st_size),
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
        },
    )


app = st.App(
    Path(__file__).with_name("app.py"), routes=[Route(f"/{exports.ROUTE}/{{token}}/{{name}}", export, methods=["GET"])]
)

# After each run of a page Streamlit looks for garbage among all objects. What the libraries brought stays anyway: left
# out, it saves a good part of a run.
go.Figure()
gc.collect()
gc.freeze()
