"""Runs many invocations of the det client in one interpreter, whose start is what
takes long: each in a fork of its own.

Standard input has an invocation a line, as JSON: {"args": "...", "stdin": "..."}.
Standard output has what came of it, a line each: {"exit": 0, "out": "..."}. The
argument "leaves" prints the commands that the client has instead, one a line.
"""

import argparse
import gc
import json
import os
import shlex
import signal
import sys
import tempfile

from determined import cli
from determined.cli import cli as client

# limit is what one invocation may take, in seconds.
LIMIT = 120


def leaves(parser, path):
    """Yields each command without subcommands, by the first of its names."""
    subs = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not subs:
        yield path
    for sub in subs:
        seen = set()
        for name, below in sub.choices.items():
            if id(below) in seen:
                continue
            seen.add(id(below))
            names = [n for n, p in sub.choices.items() if p is below]
            yield from leaves(below, path + [names])


def print_leaves():
    parser = client.make_parser()
    cli.add_args(parser, client.all_args_description)
    for path in leaves(parser, []):
        print(" ".join("|".join(names) for names in path))


def run(invocation):
    out = tempfile.TemporaryFile()
    stdin = tempfile.TemporaryFile()
    stdin.write(invocation["stdin"].encode())
    stdin.seek(0)
    child = os.fork()
    if child == 0:
        os.dup2(stdin.fileno(), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        signal.alarm(LIMIT)
        main(shlex.split(invocation["args"]))
    _, status = os.waitpid(child, 0)
    out.seek(0)
    return {"exit": os.waitstatus_to_exitcode(status), "out": out.read().decode(errors="replace")}


def main(args):
    """Ends the process as det does."""
    code = 0
    try:
        sys.argv = ["det"] + args
        client.main(args)
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
    except BaseException:
        import traceback

        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def prepare():
    """Does once what every invocation would do again: building the parser takes five
    times as long as everything else."""
    parser = client.make_parser()
    cli.add_args(parser, client.all_args_description)
    client.make_parser = lambda: parser
    cli.add_args = lambda *_: None
    gc.collect()
    gc.freeze()


if sys.argv[1:] == ["leaves"]:
    print_leaves()
else:
    prepare()
    # What a fork writes must not be what was read and not used yet.
    for line in sys.stdin.read().splitlines():
        print(json.dumps(run(json.loads(line))), flush=True)
