package view

import (
	"context"
	"io"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/store"
)

// Caller is the sender of a request: a user, or the task of an allocation.
type Caller struct {
	User *apiv1.User
	// Task and Allocation are empty for a user.
	Task, Allocation string
}

// Report stores a checkpoint that a trial has saved. It is idempotent. A task may only report
// checkpoints of its own trial, and a user only those of unmanaged trials.
func (v *Checkpoints) Report(ctx context.Context, by Caller, in *apiv1.Checkpoint) error {
	if id, err := uuid.Parse(in.GetUuid()); err != nil || id.String() != in.GetUuid() {
		return status.New(status.InvalidArgument, "uuid: must be a UUID in lower case (%.64q)", in.GetUuid())
	}
	if by.Task != "" && in.GetTaskId() != by.Task {
		return status.New(status.PermissionDenied, "this token is for task %s, which may only report its own checkpoints", by.Task)
	}
	trial, found, err := v.tasks.trialOf(ctx, in.GetTaskId())
	if err != nil {
		return err
	}
	if !found {
		return status.New(status.InvalidArgument, "task_id: only trials report checkpoints, and %.64q is not the task of a trial", in.GetTaskId())
	}
	if by.Task == "" {
		if err := v.may(ctx, by.User)(trial.experiment); err != nil {
			return err
		}
	}
	rec, err := v.recordOf(in, trial)
	if err != nil {
		return err
	}
	news := experiment.Checkpointed{UUID: rec.UUID, Trial: rec.Trial, Steps: rec.Steps, Allocation: by.Allocation}
	return v.cfg.Trials.Checkpointed(ctx, news, func(ctx context.Context, tx *store.Tx) error {
		if err := checkpoint.CheckRunStorage(ctx, tx, rec.Experiment, rec.Storage); err != nil {
			return err
		}
		return checkpoint.Put(ctx, tx, rec)
	})
}

// recordOf converts a report to a record. It returns InvalidArgument if the report is invalid.
func (v *Checkpoints) recordOf(in *apiv1.Checkpoint, trial taskTrial) (checkpoint.Record, error) {
	metadata := in.GetMetadata().AsMap()
	steps, err := checkpoint.StepsOf(metadata)
	if err != nil {
		return checkpoint.Record{}, err
	}
	states := map[apiv1.Checkpoint_State]checkpoint.State{
		apiv1.Checkpoint_STATE_ACTIVE: checkpoint.Active, apiv1.Checkpoint_STATE_COMPLETED: checkpoint.Completed, apiv1.Checkpoint_STATE_ERROR: checkpoint.Error,
	}
	state, found := states[in.GetState()]
	if !found {
		return checkpoint.Record{}, status.New(status.InvalidArgument, "state: must be STATE_ACTIVE, STATE_COMPLETED or STATE_ERROR")
	}
	reported := v.cfg.Now().UTC()
	if at := in.GetReportTime(); at.IsValid() && at.AsTime().Unix() > 0 {
		reported = at.AsTime().Truncate(time.Microsecond)
	}
	return checkpoint.Record{
		UUID: in.GetUuid(), Experiment: trial.experiment, Trial: trial.id, Task: in.GetTaskId(), Allocation: in.GetAllocationId(),
		Reported: reported, State: state, Steps: steps, Metadata: metadata, Resources: in.GetResources(), Storage: in.GetStorageId(),
	}, nil
}

// Patch stores the remaining files of checkpoints. Each trial's checkpoints are updated in one
// transaction.
func (v *Checkpoints) Patch(ctx context.Context, by Caller, in *apiv1.PatchCheckpointsRequest) error {
	reporter := checkpoint.Reporter{Task: by.Task, May: v.may(ctx, by.User)}
	of := map[int32][]checkpoint.Patch{}
	for _, p := range in.GetCheckpoints() {
		if p.GetResources() == nil {
			continue
		}
		trial, err := v.continuing(ctx, p.GetUuid())
		if err != nil {
			return err
		}
		of[trial] = append(of[trial], checkpoint.Patch{UUID: p.GetUuid(), Resources: p.GetResources().GetResources()})
	}
	for trial, all := range of {
		var err error
		if trial == 0 {
			err = v.cfg.Checkpoints.PatchAll(ctx, reporter, all)
		} else {
			err = v.cfg.Trials.Patched(ctx, trial, func(ctx context.Context, tx *store.Tx) error {
				return checkpoint.PatchIn(ctx, tx, reporter, all)
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// continuing returns the trial that would continue from a checkpoint, or 0 if no trial would.
func (v *Checkpoints) continuing(ctx context.Context, uuid string) (int32, error) {
	rec, found, err := checkpoint.Get(ctx, v.cfg.Store, uuid)
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, checkpoint.NotFound(uuid)
	}
	doc, _, err := record.Docs().Trials.Get(ctx, v.cfg.Store, record.Key(rec.Trial))
	if err != nil || doc.Value.Life.State.Over() || doc.Value.Life.Latest != uuid {
		return 0, err
	}
	return rec.Trial, nil
}

// Delete deletes checkpoints. It deletes none of them and returns an error if one is in use.
func (v *Checkpoints) Delete(ctx context.Context, by *apiv1.User, uuids []string) error {
	return v.order(ctx, by, uuids, checkpoint.AllFiles())
}

// RemoveFiles deletes the matching files of checkpoints. Without globs, a task only lists the
// existing files.
func (v *Checkpoints) RemoveFiles(ctx context.Context, by *apiv1.User, uuids, globs []string) error {
	return v.order(ctx, by, uuids, globs)
}

func (v *Checkpoints) order(ctx context.Context, by *apiv1.User, uuids, globs []string) error {
	if len(uuids) == 0 {
		return status.New(status.InvalidArgument, "checkpoint_uuids: name at least one checkpoint")
	}
	return v.cfg.Checkpoints.Delete(ctx, checkpoint.Order{UserID: by.GetId(), UUIDs: uuids, Globs: globs, May: v.may(ctx, by)})
}

// SetMetadata replaces the metadata of a checkpoint. Its steps do not change.
func (v *Checkpoints) SetMetadata(ctx context.Context, by *apiv1.User, id string, metadata map[string]any) (*apiv1.Checkpoint, error) {
	var rec checkpoint.Record
	err := v.cfg.Store.Write(ctx, func(tx *store.Tx) (err error) {
		var found bool
		if rec, found, err = checkpoint.Get(ctx, tx, id); err != nil {
			return err
		}
		if !found {
			return checkpoint.NotFound(id)
		}
		if err := v.may(ctx, by)(rec.Experiment); err != nil {
			return err
		}
		rec.Metadata = maps.Clone(metadata)
		return checkpoint.SetMetadata(tx, rec)
	})
	if err != nil {
		return nil, err
	}
	return v.newPage().show(ctx, rec)
}

// DeleteTensorBoards deletes the TensorBoard files of an experiment.
func (v *Checkpoints) DeleteTensorBoards(ctx context.Context, by *apiv1.User, experiment int32) error {
	if err := v.may(ctx, by)(experiment); err != nil {
		return err
	}
	return v.cfg.Checkpoints.DeleteTensorBoards(ctx, experiment, by.GetId())
}

// Download writes an archive of a checkpoint's files. It returns PermissionDenied if the user may
// not read the checkpoint.
func (v *Checkpoints) Download(ctx context.Context, by *apiv1.User, uuid string, f storage.Format, w io.Writer) error {
	if err := v.CheckReader(ctx, Caller{User: by}, uuid); err != nil {
		return err
	}
	return v.cfg.Checkpoints.Download(ctx, uuid, f, w)
}

// DownloadFile calls serve with a file of a checkpoint. Its errors are PermissionDenied, as for Download,
// and NotFound.
func (v *Checkpoints) DownloadFile(ctx context.Context, by *apiv1.User, uuid, name string, serve func(io.ReadSeeker) error) error {
	if err := v.CheckReader(ctx, Caller{User: by}, uuid); err != nil {
		return err
	}
	return v.cfg.Checkpoints.DownloadFile(ctx, uuid, name, serve)
}
