"""Writes numpy.json: what NumPy's legacy generator draws. Run: python3 draw.py > numpy.json"""
import json
import uuid

import numpy as np


def draw(space, rs):
    out = {}
    for name in sorted(space):
        p = space[name]
        kind = p.get("type") if isinstance(p, dict) else None
        if not isinstance(p, dict):
            out[name] = p
        elif kind is None:
            out[name] = draw(p, rs)
        elif kind == "int":
            out[name] = p["minval"] + int(rs.randint(0, p["maxval"] - p["minval"] + 1, dtype=np.uint64))
        elif kind == "double":
            out[name] = float(rs.uniform(p["minval"], p["maxval"]))
        elif kind == "log":
            out[name] = float(p["base"] ** rs.uniform(p["minval"], p["maxval"]))
        elif kind == "categorical":
            out[name] = p["vals"][int(rs.randint(0, len(p["vals"]), dtype=np.uint64))]
        elif kind == "const":
            out[name] = p["val"]
    return out


def trials(seed, space, count):
    rs = np.random.RandomState(seed)
    out = []
    for _ in range(count):
        values = draw(space, rs)
        rid = uuid.UUID(bytes=rs.bytes(16), version=4)
        out.append({"hparams": values, "request_id": str(rid), "seed": int(rs.randint(0, 2**31, dtype=np.uint64))})
    return out


FLAT = {
    "lr": {"type": "log", "minval": -5.0, "maxval": -1.0, "base": 10.0},
    "dropout": {"type": "double", "minval": 0.2, "maxval": 0.8},
    "layers": {"type": "int", "minval": 1, "maxval": 12},
    "act": {"type": "categorical", "vals": ["relu", "gelu", "tanh"]},
    "batch": 32,
}
WIDE = {
    "big": {"type": "int", "minval": -5_000_000_000, "maxval": 9_000_000_000_000},
    "one": {"type": "int", "minval": 7, "maxval": 7},
    "only": {"type": "categorical", "vals": ["x"]},
    "edge": {"type": "int", "minval": 0, "maxval": 2**32 - 1},
    "opt": {
        "sgd": {"momentum": {"type": "double", "minval": 0.0, "maxval": 1.0}},
        "adam": {"beta": {"type": "double", "minval": 0.8, "maxval": 1.0}, "eps": {"type": "log", "minval": -9, "maxval": -6, "base": 10.0}},
        "name": {"type": "const", "val": "w"},
    },
    "zz": {"type": "int", "minval": -3, "maxval": 3},
}
cases = [
    {"seed": seed, "space": space, "trials": trials(seed, space, n)}
    for seed, space, n in [(0, FLAT, 5), (42, FLAT, 200), (4294967295, FLAT, 5), (1731000000, WIDE, 100)]
]
print(json.dumps(cases, separators=(",", ":")))
