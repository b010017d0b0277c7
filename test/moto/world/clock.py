"""Time, one clock an account.

Nothing here waits: what is due happens before the next request is answered,
and a test may move an account's clock forward instead of waiting.
"""

import heapq
import itertools
import threading
import time

# lock is held while a request changes what this package knows.
lock = threading.RLock()

_shift = {}
_due = {}
_order = itertools.count()


def now(account):
    """Seconds on an account's clock."""
    return time.monotonic() + _shift.get(account, 0.0)


def later(account, seconds, act):
    """Does something once an account's clock is that much further; at once for 0."""
    if seconds <= 0:
        act()
        return
    heapq.heappush(_due.setdefault(account, []), (now(account) + seconds, next(_order), act))


def settle():
    """Does what is due."""
    with lock:
        for account, due in _due.items():
            while due and due[0][0] <= now(account):
                heapq.heappop(due)[2]()


def advance(account, seconds):
    """Moves an account's clock forward."""
    with lock:
        _shift[account] = _shift.get(account, 0.0) + seconds
    settle()


def shift(account):
    """How far an account's clock has been moved, in seconds."""
    return _shift.get(account, 0.0)


def clear():
    """Forgets everything that was to happen."""
    with lock:
        _due.clear()
        _shift.clear()
