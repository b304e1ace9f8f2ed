"""The choice of a policy: by widgets, from the flags of this moment, or from a file."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from dashboard import whatif
from dashboard.components import choices, data, grid, panel
from dashboard.components.view import View
from dashboard.errors import UserError
from dashboard.escape import markdown, plain
from dashboard.snapshot import Snapshot
from dashboard.text import scalar
from dashboard.texts import say, tell
from dashboard.whatif import ANYTHING, TRIGGERS, Breaker, Policy
from dashboard.whatif.policy import VERSION, policy_text

KEPT = "_whatif_policy"
"""The policy as it was chosen last: widgets forget what they were told when another page is shown."""

ERROR = "_whatif_error"
KEYS = {
    "triggers": "whatif_triggers",
    "retries": "whatif_retries",
    "guard": "whatif_guard",
    "breaker": "whatif_breaker",
}
UPLOAD = "whatif_upload"
MESSAGE_LENGTH = 600


def choose(view: View) -> Policy:
    """Draws the widgets and gives the policy that they say; at first that of the flags of this moment."""
    if KEPT not in st.session_state:
        st.session_state[KEPT] = flagged(view.snapshot)[0]
    kept: Policy = st.session_state[KEPT]
    for key, value in widgets(kept).items():
        st.session_state.setdefault(key, value)
    with st.container(border=True):
        sources(view)
        fields = {"version": VERSION} | rules(view) | breaker()
        policy = with_partners(fields, kept.fields().get("partners", {}))
        own_rules(view, policy)
        download(policy)
    st.session_state[KEPT] = policy
    return policy


def widgets(policy: Policy) -> dict[str, Any]:
    """What each widget has to hold for everyone's rules."""
    rules = policy.default
    settings = asdict(rules.breaker or Breaker())
    return {
        KEYS["triggers"]: [name for name in TRIGGERS if rules.triggers is None or name in rules.triggers],
        KEYS["retries"]: rules.max_retries,
        KEYS["guard"]: rules.budget_guard,
        KEYS["breaker"]: rules.breaker is not None,
        **{f"whatif_{name}": value if name == "min_attempts" else float(value) for name, value in settings.items()},
    }


def take(policy: Policy) -> None:
    """Puts a policy into the widgets; for what runs before them."""
    st.session_state[KEPT] = policy
    st.session_state.update(widgets(policy))
    st.session_state.pop(ERROR, None)


def flagged(snapshot: Snapshot) -> tuple[Policy, str]:
    """The policy of the flags of this moment, and its file."""
    return _flagged(snapshot, str(snapshot.warehouse), snapshot.id)


@st.cache_data(ttl=data.KEEP_S, max_entries=4, show_spinner=False)
def _flagged(_snapshot: Snapshot, warehouse: str, id: str) -> tuple[Policy, str]:
    policy, fields = whatif.flag_policy(_snapshot)
    return policy, policy_text(fields)


def sources(view: View) -> None:
    """Ready-made policies, and the way in for a file."""
    policy, text = flagged(view.snapshot)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.button(
            tell("whatif.flags"),
            key="whatif_flags",
            icon=":material/flag:",
            help=say("whatif.flags_help"),
            on_click=take,
            args=(policy,),
        )
        st.button(tell("whatif.anything"), key="whatif_anything", on_click=take, args=(ANYTHING,))
        st.download_button(
            tell("whatif.flags_file"),
            text,
            file_name="policy-of-flags.json",
            mime="application/json",
            key="whatif_flags_file",
            icon=":material/download:",
            on_click="ignore",
        )
    with st.expander(tell("whatif.upload"), icon=":material/upload:"):
        st.file_uploader(tell("whatif.upload_hint"), "json", key=UPLOAD, on_change=uploaded)
    if ERROR in st.session_state:
        st.error(markdown(st.session_state[ERROR], MESSAGE_LENGTH))


def uploaded() -> None:
    """Takes the policy of a file, or keeps what is wrong with it."""
    file = st.session_state.get(UPLOAD)
    if file is None:
        st.session_state.pop(ERROR, None)
        return
    try:
        take(whatif.parse(file.getvalue(), plain(file.name)))
    except UserError as error:
        st.session_state[ERROR] = str(error)


def rules(view: View) -> dict[str, Any]:
    """Triggers, number of retries and budget guard for everyone."""
    titles = data.reason_titles(view.snapshot)
    triggers = st.multiselect(
        tell("whatif.triggers"),
        TRIGGERS,
        format_func=lambda name: titles.get(name, name),
        key=choices.labelled(KEYS["triggers"]),
        help=say("whatif.triggers_help"),
        placeholder=tell("whatif.no_triggers"),
    )
    first, second = st.columns(2, vertical_alignment="bottom")
    with first:
        most = st.number_input(
            tell("whatif.retries"),
            min_value=0,
            value=None,
            step=1,
            key=KEYS["retries"],
            placeholder=tell("whatif.any"),
            help=say("whatif.retries_help"),
        )
    with second:
        guard = st.toggle(tell("whatif.guard"), key=KEYS["guard"], help=say("whatif.guard_help"))
    listed = {"triggers": list(triggers)} if len(triggers) < len(TRIGGERS) else {}
    return listed | ({} if most is None else {"max_retries": int(most)}) | {"budget_guard": guard}


def breaker() -> dict[str, Any]:
    """The breaker for everyone, with its settings while it is on."""
    if not st.toggle(tell("whatif.breaker"), key=KEYS["breaker"], help=say("whatif.breaker_help")):
        return {"breaker": None}
    limits: Mapping[str, dict[str, Any]] = {
        "window_s": {"min_value": 0.1, "max_value": 86_400.0, "step": 1.0},
        "min_attempts": {"min_value": 1, "step": 1},
        "failure_share": {"min_value": 0.01, "max_value": 1.0, "step": 0.05},
        "open_s": {"min_value": 0.1, "max_value": 86_400.0, "step": 1.0},
    }
    given: dict[str, Any] = {}
    for cell, (name, bounds) in zip(st.columns(len(limits)), limits.items(), strict=True):
        with cell:
            given[name] = st.number_input(tell(f"whatif.{name}"), key=f"whatif_{name}", **bounds)
    return {"breaker": given}


def with_partners(fields: dict[str, Any], partners: Mapping[str, Any]) -> Policy:
    """Everyone's rules of the widgets, with the rules that partners have instead."""
    return whatif.parse(policy_text(fields | ({"partners": partners} if partners else {})), tell("whatif.title"))


def own_rules(view: View, policy: Policy) -> None:
    """The partners with rules of their own; they keep them whatever the widgets say."""
    if not policy.partners:
        return
    with st.expander(tell("whatif.own", n=len(policy.partners)), icon=":material/handshake:"):
        st.caption(say("whatif.own_about"))
        grid.show(
            [
                {
                    "partner": plain(name),
                    "triggers": tell("whatif.all") if own.triggers is None else "; ".join(sorted(own.triggers)) or "-",
                    "max_retries": tell("whatif.any") if own.max_retries is None else str(own.max_retries),
                    "budget_guard": scalar(own.budget_guard),
                    "breaker": "-" if own.breaker is None else scalar(asdict(own.breaker)),
                }
                for name, own in sorted(policy.partners.items())
            ],
            view.zone,
            key="whatif_own",
        )
        st.button(tell("whatif.drop"), key="whatif_drop", on_click=take, args=(Policy(policy.default),))


def download(policy: Policy) -> None:
    """The policy as a file."""
    text = policy_text(policy.fields())
    st.download_button(
        tell("whatif.download"),
        text,
        file_name=f"policy-{panel.digest(text)}.json",
        mime="application/json",
        key="whatif_download",
        icon=":material/download:",
        on_click="ignore",
    )
