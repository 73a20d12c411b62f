"""All errors, grouped by who has to act; every surface reads the codes from here.

ContextdError
├── InvalidInput      the caller has to act: a bad path, budget, template, setting
│   ├── NotFound      no such memory, job, file or project
│   ├── Forbidden     the reader may not do this
│   ├── Conflict      the name is taken, or the same work is in progress
│   └── TooLarge      a value is over its limit
├── Unavailable       a model, a service or an optional part is missing; may be tried again
│   ├── Busy          another process is writing
│   ├── TimedOut      the deadline passed
│   └── LeaseLost     the lock file of the project was taken away
├── StorageError      the disk or the database failed: full, read-only, locked, corrupt
└── IndexMismatch     stored data has another version, or has to be rebuilt
"""

from __future__ import annotations


class ContextdError(Exception):
    """An error with a message that says what happened and what to do."""

    exit_code = 3
    http_status = 500
    code = "error"


class InvalidInput(ContextdError):
    """The request of the caller is invalid."""

    exit_code = 2
    http_status = 400
    code = "invalid_input"


class NotFound(InvalidInput):
    """No object has this name, or the reader may not see it."""

    http_status = 404
    code = "not_found"


class Forbidden(InvalidInput):
    """The reader may not do this."""

    http_status = 403
    code = "forbidden"


class Conflict(InvalidInput):
    """The state of the data does not allow the request: a name is taken, or the same work is in progress."""

    http_status = 409
    code = "conflict"


class TooLarge(InvalidInput):
    """A value is over its limit."""

    http_status = 413
    code = "too_large"


class Unavailable(ContextdError):
    """An optional part is missing. Inside `trace.attempt` this error becomes a warning."""

    exit_code = 3
    http_status = 503
    code = "unavailable"


class Busy(Unavailable):
    """Another process holds the write lease. `holder` names the process; `sign` changes while it is alive."""

    code = "busy"

    def __init__(self, holder: str, sign: int) -> None:
        super().__init__(f"the index is locked by {holder}; wait for it to finish, or stop it")
        self.holder, self.sign = holder, sign


class TimedOut(Unavailable):
    """The caller's deadline passed."""

    http_status = 504
    code = "timed_out"


class LeaseLost(Unavailable):
    """The lock file of the project was removed or replaced: another process may be writing."""

    code = "lease_lost"


STORAGE_CODES = frozenset("storage storage_full read_only locked corrupt cannot_open io derived".split())


class StorageError(ContextdError):
    """The disk or the database failed. `code` is one of `STORAGE_CODES`."""

    exit_code = 3
    http_status = 503
    code = "storage"

    def __init__(self, message: str, *, code: str = "storage") -> None:
        super().__init__(message)
        self.code = code
        self.http_status = 507 if code == "storage_full" else 503


class IndexMismatch(ContextdError):
    """This version cannot use the stored data."""

    exit_code = 4
    http_status = 409
    code = "index_mismatch"
