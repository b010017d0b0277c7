"""Runs invocations of the det client, each in a fork of its own: importing the client and
building its parser takes a second of processor time, and happens once here.

Standard input has an invocation a line, as JSON: {"id": 1, "args": [...] or "line": "...",
"stdin": "...", "env": ["NAME=value"], "dir": "...", "apart": false}; {"kill": 1} ends one.
Standard output has a result a line: {"id": 1, "exit": 0, "out": "...", "err": "..."}, where
"out" is both streams unless they are kept apart. When standard input ends, so do all
invocations.
"""

import gc
import json
import os
import select
import shlex
import signal
import sys
import tempfile

from determined import cli
from determined.cli import cli as client
from determined.common import api

# LIMIT is the duration of an invocation at most, in seconds.
LIMIT = 900


def prepare():
    """Builds the parser, which takes five times as long as everything else."""
    sys.argv = ["det"]
    parser = client.make_parser()
    cli.add_args(parser, client.all_args_description)
    client.make_parser = lambda: parser
    cli.add_args = lambda *_: None
    gc.collect()
    gc.freeze()
    return parser


def follow_environment(parser):
    """Sets the one default that depends on the environment."""
    for action in parser._actions:
        if action.dest == "master":
            action.default = api.get_default_master_url()


def become(parser, request, stdin, out, err):
    """Is the det client until it ends."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(stdin.fileno(), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno(), 2)
    os.chdir(request["dir"])
    os.environ.clear()
    os.environ.update(entry.split("=", 1) for entry in request["env"])
    follow_environment(parser)
    signal.alarm(LIMIT)
    code = 0
    try:
        args = request.get("args")
        if args is None:
            args = shlex.split(request["line"])
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


class Output:
    """The streams of an invocation, in one file unless they are kept apart."""

    def __init__(self, apart):
        self.out = tempfile.TemporaryFile()
        self.err = tempfile.TemporaryFile() if apart else self.out

    def read(self):
        self.out.seek(0)
        self.err.seek(0)
        text = self.out.read().decode(errors="replace")
        return text, "" if self.err is self.out else self.err.read().decode(errors="replace")


class Server:
    def __init__(self, parser):
        self.parser = parser
        self.running = {}

    def begin(self, request):
        if "kill" in request:
            for pid, (number, _) in self.running.items():
                if number == request["kill"]:
                    os.kill(pid, signal.SIGKILL)
            return
        stdin = tempfile.TemporaryFile()
        stdin.write(request["stdin"].encode())
        stdin.seek(0)
        files = Output(request.get("apart"))
        pid = os.fork()
        if pid == 0:
            become(self.parser, request, stdin, files.out, files.err)
        self.running[pid] = request["id"], files

    def reap(self):
        while self.running:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            number, files = self.running.pop(pid)
            out, err = files.read()
            result = {"id": number, "exit": os.waitstatus_to_exitcode(status), "out": out, "err": err}
            print(json.dumps(result), flush=True)

    def serve(self):
        woken, wake = os.pipe()
        os.set_blocking(woken, False)
        os.set_blocking(wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)
        rest = b""
        while True:
            ready, _, _ = select.select([0, woken], [], [])
            if woken in ready:
                os.read(woken, 4096)
                self.reap()
            if 0 in ready:
                data = os.read(0, 1 << 16)
                if not data:
                    os.killpg(0, signal.SIGKILL)
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.begin(json.loads(line))


os.setsid()
Server(prepare()).serve()
