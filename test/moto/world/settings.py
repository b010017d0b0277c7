"""What a test may change of an account's behaviour, and what it is before."""

import collections

DEFAULTS = {
    "pending": 0.0,  # seconds from pending to running
    "shutdown": 0.0,  # from shutting-down to terminated, while interfaces hold groups and subnets
    "stopping": 0.0,  # from stopping to stopped
    "forget": 3600.0,  # a terminated machine is described for that long
    "visible": 0.0,  # a new machine is not described before
    "profile_lag": 0.0,  # a new instance profile cannot be used before
    "page": 1000,  # most reservations in one answer
}

_accounts = collections.defaultdict(dict)


def get(account, name):
    """One setting of an account."""
    return _accounts[account].get(name, DEFAULTS[name])


def put(account, values):
    """Changes settings of an account."""
    unknown = set(values) - set(DEFAULTS)
    if unknown:
        raise KeyError(f"no such setting: {', '.join(sorted(unknown))}")
    _accounts[account].update(values)


def clear():
    """Makes every account as it is before a test says anything."""
    _accounts.clear()
