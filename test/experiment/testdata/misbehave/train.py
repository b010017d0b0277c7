"""Does what no program should do: its hyperparameter "how" says what."""

import os
import signal
import sys
import time

import determined as det
from determined import core


def save(context):
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, _):
        (path / "state").write_text("1")


def ignore_signals(info):
    """Saves itself once, and then hears nothing. Resumed, it ends."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        if info.latest_checkpoint is not None:
            print("resumed", flush=True)
            return
        context.train.report_validation_metrics(1, {"validation_loss": 1.0})
        save(context)
        leave_children(info)
        print("deaf", flush=True)
        while True:
            time.sleep(0.1)


def leave_children(info):
    """Leaves a process that keeps the output open, and one in a session of its own without it."""
    script = "trap '' TERM HUP INT; while :; do sleep 1; done; : " + info.trial.hparams["mark"]
    for daemon in (False, True):
        if os.fork() != 0:
            continue
        if daemon:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
        os.execvp("/bin/sh", ["/bin/sh", "-c", script])


def fill_log(info):
    """Writes 32 MiB that cannot be made small, half of it as one line."""
    for _ in range(256):
        sys.stdout.write("\n".join(os.urandom(512).hex() for _ in range(64)) + "\n")
    for _ in range(16):
        sys.stderr.write(os.urandom(1 << 19).hex())


def fail_alone(info):
    """The last rank fails; the others would stay for ever."""
    leave_children(info)
    if info.container_rank == len(info.container_addrs) - 1:
        time.sleep(1)
        sys.exit(7)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(0.1)


if __name__ == "__main__":
    cluster = det.get_cluster_info()
    {
        "ignores signals": ignore_signals,
        "leaves children": leave_children,
        "fills its log": fill_log,
        "fails alone": fail_alone,
    }[cluster.trial.hparams["how"]](cluster)
