"""Fits a line on any machine that reaches the master, and shows it as an experiment there.

Needs `pip install determined==0.38.1` and DET_MASTER, DET_USER, DET_PASS and CHECKPOINTS, a
directory. Run it again: it continues from its latest checkpoint.
"""

import json
import os
import pathlib
import time

from determined.experimental import core_v2

EPOCHS = int(os.environ.get("EPOCHS", "8"))
PAUSE = float(os.environ.get("SECONDS_PER_EPOCH", "0"))


def load(info):
    """The epoch and the weight that training continues from."""
    if info.latest_checkpoint is None:
        return 0, 0.0
    with core_v2.checkpoint.restore_path(info.latest_checkpoint) as path:
        state = json.loads((path / "line.json").read_text())
    print(f"resumed at epoch {state['epoch']}")
    return state["epoch"], state["weight"]


def save(epoch, weight):
    with core_v2.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
        (pathlib.Path(path) / "line.json").write_text(json.dumps({"epoch": epoch, "weight": weight}))


def main():
    core_v2.init(
        config=core_v2.Config(
            name="elsewhere",
            hparams={"rate": 0.3},
            labels=["laptop"],
            searcher={"name": "single", "metric": "loss", "smaller_is_better": True},
            checkpoint_storage=os.environ["CHECKPOINTS"],
            external_experiment_id=os.environ.get("EXPERIMENT", "line"),
            external_trial_id=os.environ.get("TRIAL", "first"),
        ),
        tensorboard_mode=core_v2.TensorboardMode.MANUAL,
    )
    first, weight = load(core_v2.info)
    for epoch in range(first + 1, first + EPOCHS + 1):
        weight += 0.3 * (2.0 - weight)
        core_v2.train.report_training_metrics(epoch, {"loss": (2.0 - weight) ** 2})
        if epoch % 2 == 0:
            core_v2.train.report_validation_metrics(epoch, {"loss": (2.0 - weight) ** 2})
            save(epoch, weight)
        core_v2.train.report_progress((epoch - first) / EPOCHS)
        print(f"WARNING: epoch {epoch} of {first + EPOCHS}: weight {weight:.4f}")
        time.sleep(PAUSE)
        if epoch == int(os.environ.get("FAIL_AT", "0")):
            raise RuntimeError("failed as it was asked to")
    core_v2.close()


if __name__ == "__main__":
    main()
