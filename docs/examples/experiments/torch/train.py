"""Trains a small network on one process per slot with torch's DistributedDataParallel.

Gradients are averaged over gloo, so that it runs without a GPU; with one, say nccl. The
first process reports and saves; each of them resumes and heeds the signal to stop.
"""

import pathlib

import torch
from torch import distributed, nn

import determined as det
from determined import core


def batch(rank, epoch):
    """A process's own part of the data: x, and its sine."""
    generator = torch.Generator().manual_seed(1000 * epoch + rank)
    x = torch.rand(64, 1, generator=generator) * 6 - 3
    return x, torch.sin(x)


def restore(context, model, checkpoint):
    with context.checkpoint.restore_path(checkpoint) as path:
        state = torch.load(pathlib.Path(path) / "state.pt")
    model.load_state_dict(state["model"])
    return state["epoch"]


def save(context, model, epoch):
    if distributed.get_rank() != 0:
        return
    with context.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
        torch.save({"model": model.state_dict(), "epoch": epoch}, path / "state.pt")


def train(context, info):
    torch.manual_seed(info.trial.trial_seed)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    first = restore(context, model, info.latest_checkpoint) if info.latest_checkpoint else 0
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=info.trial.hparams["learning_rate"])
    rank = distributed.get_rank()
    print(f"process {rank} of {distributed.get_world_size()} begins at epoch {first}", flush=True)
    for epoch in range(first + 1, info.trial.hparams["epochs"] + 1):
        x, y = batch(rank, epoch)
        loss = nn.functional.mse_loss(parallel(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0:
            context.train.report_training_metrics(epoch, {"loss": loss.item()})
        if epoch % info.trial.hparams["validate_every"] == 0:
            if rank == 0:
                context.train.report_validation_metrics(epoch, {"validation_loss": loss.item()})
            save(context, model, epoch)
        if context.preempt.should_preempt():
            save(context, model, epoch)
            return


if __name__ == "__main__":
    distributed.init_process_group("gloo")
    ranks = core.DistributedContext.from_torch_distributed()
    with core.init(distributed=ranks, tensorboard_mode=core.TensorboardMode.MANUAL) as core_context:
        train(core_context, det.get_cluster_info())
