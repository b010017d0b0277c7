package view

import (
	"context"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// showCheckpoints adds the checkpoints of a trial to its message.
func (t *Trials) showCheckpoints(ctx context.Context, m *apiv1.Trial, best *record.Best) error {
	list, err := checkpoint.ListTrials(ctx, t.cfg.Store, m.GetId())
	if err != nil {
		return err
	}
	var shown checkpoint.Entry
	for _, r := range list {
		if !r.State.Usable() {
			continue
		}
		m.CheckpointCount++
		m.TotalCheckpointSize += r.Bytes()
		if best != nil && r.Steps == best.Steps {
			shown = r
		}
	}
	if shown.UUID != "" {
		m.BestCheckpoint, err = t.showEntry(ctx, shown)
	}
	return err
}

// showEntry returns a checkpoint as an API message. If it was deleted concurrently, the message
// contains only the fields of the entry.
func (t *Trials) showEntry(ctx context.Context, e checkpoint.Entry) (*apiv1.CheckpointWorkload, error) {
	r, found, err := checkpoint.Get(ctx, t.cfg.Store, e.UUID)
	if err != nil {
		return nil, err
	}
	if !found {
		r = e.Record
	}
	return showCheckpoint(r)
}

func showCheckpoint(r checkpoint.Record) (*apiv1.CheckpointWorkload, error) {
	metadata, err := toStruct(r.Metadata)
	if err != nil {
		return nil, err
	}
	return &apiv1.CheckpointWorkload{
		Uuid: r.UUID, EndTime: toTime(r.Reported), State: checkpointState(r.State), Resources: r.Resources,
		TotalBatches: r.Steps, Metadata: metadata,
	}, nil
}

// checkpointState converts a state for clients. The API has no state for a deletion in progress, and
// `det trial describe` fails on PARTIALLY_DELETED.
func checkpointState(s checkpoint.State) apiv1.CheckpointWorkload_State {
	switch s {
	case checkpoint.Deleting:
		return apiv1.CheckpointWorkload_STATE_DELETED
	case checkpoint.PartiallyDeleted:
		return apiv1.CheckpointWorkload_STATE_COMPLETED
	case checkpoint.Active, checkpoint.Completed, checkpoint.Error, checkpoint.Deleted:
	}
	return apiv1.CheckpointWorkload_State(apiv1.CheckpointWorkload_State_value["STATE_"+string(s)])
}

// countCheckpoints returns the number of the trials' checkpoints and their size in bytes.
func (e *Experiments) countCheckpoints(ctx context.Context, trials []int32) (n int32, bytes int64, err error) {
	list, err := checkpoint.ListTrials(ctx, e.cfg.Store, trials...)
	for _, r := range list {
		if r.State.Usable() {
			n++
			bytes += r.Bytes()
		}
	}
	return n, bytes, err
}
