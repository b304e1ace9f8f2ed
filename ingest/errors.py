"""What can go wrong on the write side, as a tree.

RetryLensError
├── UserError           one line: what, where, what to do; the command ends with `exit_code`
│   ├── InputError      wrong usage, or input that does not exist (2)
│   │   └── NewerVersion a snapshot that a newer RetryLens wrote
│   ├── BusyError       another ingest holds the warehouse (1)
│   └── StorageError    the disk of the warehouse is full, or fails (1)
└── Refused             one file cannot be loaded as it is; the others go on
"""

from __future__ import annotations


class RetryLensError(Exception):
    """Base of everything that RetryLens raises on purpose."""


class UserError(RetryLensError):
    """A one-line message for the person at the terminal."""

    exit_code = 2

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split("\n")))


class InputError(UserError):
    """Wrong usage, or input that does not exist."""


class NewerVersion(InputError):
    """A snapshot that a newer RetryLens wrote."""


class BusyError(UserError):
    """The warehouse is held by another writer."""

    exit_code = 1


class StorageError(UserError):
    """The disk of the warehouse is full, or fails; what was published stands."""

    exit_code = 1


class Refused(RetryLensError):
    """A file that is refused whole; `reason` goes into its row of `loads`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
