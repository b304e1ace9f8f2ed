"""What can go wrong on the read side: always one line that says what, where and what to do."""

from __future__ import annotations


class UserError(Exception):
    """A one-line message for the person at the terminal or the page; the command ends with `exit_code`."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split("\n")))
