"""Fits y = 3x + 1 by gradient descent, with nothing but the Core API.

It does what every trial should do: it resumes from its latest checkpoint, reports
metrics, saves itself before it stops, and stops when it is asked to.
"""

import json
import pathlib
import random
import time

import determined as det
from determined import core

POINTS = [(x / 10, 3 * x / 10 + 1) for x in range(-10, 11)]


class Line:
    """A slope and an intercept, and how many epochs they were trained."""

    def __init__(self, seed):
        generator = random.Random(seed)
        self.slope, self.intercept = generator.random(), generator.random()
        self.epochs = 0

    def train_epoch(self, learning_rate):
        for x, y in POINTS:
            error = self.slope * x + self.intercept - y
            self.slope -= learning_rate * error * x
            self.intercept -= learning_rate * error
        self.epochs += 1

    def loss(self):
        return sum((self.slope * x + self.intercept - y) ** 2 for x, y in POINTS) / len(POINTS)


def restore(context, line, checkpoint):
    with context.checkpoint.restore_path(checkpoint) as path:
        line.__dict__.update(json.loads((pathlib.Path(path) / "line.json").read_text()))
    print(f"resumed at epoch {line.epochs}", flush=True)


def save(context, line):
    with context.checkpoint.store_path({"steps_completed": line.epochs}) as (path, _):
        (path / "line.json").write_text(json.dumps(line.__dict__))


def train(context, info):
    hparams = info.trial.hparams
    line = Line(info.trial.trial_seed)
    if info.latest_checkpoint is not None:
        restore(context, line, info.latest_checkpoint)
    while line.epochs < hparams["epochs"]:
        line.train_epoch(hparams["learning_rate"])
        time.sleep(hparams.get("seconds_per_epoch", 0))
        context.train.report_training_metrics(line.epochs, {"loss": line.loss()})
        if line.epochs % hparams["validate_every"] == 0 or line.epochs == hparams["epochs"]:
            context.train.report_validation_metrics(
                line.epochs, {"validation_loss": line.loss(), "epochs": line.epochs}
            )
            context.train.report_progress(line.epochs / hparams["epochs"])
            save(context, line)
        if context.preempt.should_preempt():
            save(context, line)
            print(f"stopped at epoch {line.epochs}", flush=True)
            return


if __name__ == "__main__":
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as core_context:
        train(core_context, det.get_cluster_info())
