"""Makes every call of the Core API once, and most of them again."""

import time

import determined as det
from determined import core

STEPS = 4

# How long the last report may be on its way, in seconds: the library sends reports beside the program.
PATIENCE = 120


def train(context, hparams):
    if hparams["impossible"]:
        raise det.InvalidHP("no such hyperparameters")
    context.train.set_status("training")
    context.train.set_metadata({"made": "calls"})
    assert context.train.get_metadata() == {"made": "calls"}
    saved = []
    for steps in range(1, STEPS + 1):
        context.train.report_training_metrics(steps, {"loss": 1 / steps})
        context.train.report_validation_metrics(steps, {"loss": 2 / steps})
        context.train.report_metrics("own", steps, {"value": steps})
        context.train.report_progress(steps / STEPS)
        with context.checkpoint.store_path({"steps_completed": steps}) as (path, storage_id):
            (path / "weights").write_text("w" * steps)
        saved.append(storage_id)
        assert context.checkpoint.get_metadata(storage_id)["steps_completed"] == steps
        assert not context.preempt.should_preempt()
    context.checkpoint.delete(saved[0])
    deadline = time.monotonic() + PATIENCE
    while context.train.get_experiment_best_validation() != 2 / STEPS:
        assert time.monotonic() < deadline, "the best validation is not the last one's"
        time.sleep(0.1)


if __name__ == "__main__":
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as core_context:
        train(core_context, det.get_cluster_info().trial.hparams)
