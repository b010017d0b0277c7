package view

import (
	"context"
	"math"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/status"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/experiment"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
)

// Ask performs a request of a user on an experiment.
func (e *Experiments) Ask(ctx context.Context, by *apiv1.User, id int32, r lifecycle.Request) error {
	return e.cfg.Experiments.Ask(ctx, by, id, r)
}

// DeleteRecords deletes an experiment, leaves its files in the storage, and returns their
// directories.
func (e *Experiments) DeleteRecords(ctx context.Context, by *apiv1.User, id int32) ([]string, error) {
	kept, err := checkpoint.Directories(ctx, e.cfg.Store, id)
	if err == nil {
		err = e.cfg.Experiments.DeleteRecords(ctx, by, id)
	}
	if err != nil {
		return nil, err
	}
	return kept, nil
}

// Archive archives or unarchives an experiment.
func (e *Experiments) Archive(ctx context.Context, by *apiv1.User, id int32, archived bool) error {
	return e.cfg.Experiments.Archive(ctx, by, id, archived)
}

// Move moves an experiment to another project.
func (e *Experiments) Move(ctx context.Context, by *apiv1.User, id, project int32) error {
	return e.cfg.Experiments.Move(ctx, by, id, project)
}

// SetLabel adds or removes a label and returns all labels.
func (e *Experiments) SetLabel(ctx context.Context, by *apiv1.User, id int32, label string, present bool) ([]string, error) {
	return e.cfg.Experiments.SetLabel(ctx, by, id, label, present)
}

// RetainLogs sets the log retention of all trials in days; -1 keeps logs forever.
func (e *Experiments) RetainLogs(ctx context.Context, by *apiv1.User, id, days int32) error {
	return e.cfg.Experiments.RetainLogs(ctx, by, id, int(days))
}

// Patch changes the fields that are set in p.
func (e *Experiments) Patch(ctx context.Context, by *apiv1.User, p *apiv1.PatchExperiment) (*apiv1.Experiment, error) {
	change, err := readPatch(p)
	if err != nil {
		return nil, err
	}
	v, err := e.cfg.Experiments.Patch(ctx, by, p.GetId(), change)
	if err != nil {
		return nil, err
	}
	return e.showWhole(ctx, v)
}

func readPatch(p *apiv1.PatchExperiment) (experiment.Patch, error) {
	var out experiment.Patch
	if p.GetName() != nil {
		out.Name = &p.GetName().Value
	}
	if p.GetDescription() != nil {
		out.Description = &p.GetDescription().Value
	}
	if p.GetNotes() != nil {
		out.Notes = &p.GetNotes().Value
	}
	if p.GetLabels() != nil {
		labels, err := readLabels(p.GetLabels())
		if err != nil {
			return out, err
		}
		out.Labels = &labels
	}
	if k := p.GetCheckpointStorage(); k != nil {
		out.Keep = &experiment.Keep{ExperimentBest: int(k.GetSaveExperimentBest()), TrialBest: int(k.GetSaveTrialBest()), TrialLatest: int(k.GetSaveTrialLatest())}
	}
	return out, readResources(&out, p.GetResources())
}

func readLabels(list *structpb.ListValue) ([]string, error) {
	labels := make([]string, 0, len(list.GetValues()))
	for i, v := range list.GetValues() {
		text, ok := v.GetKind().(*structpb.Value_StringValue)
		if !ok {
			return nil, status.New(status.InvalidArgument, "labels[%d]: must be a string", i)
		}
		labels = append(labels, text.StringValue)
	}
	return labels, nil
}

func readResources(out *experiment.Patch, r *apiv1.PatchExperiment_PatchResources) error {
	if r == nil {
		return nil
	}
	if r.Priority != nil {
		out.Priority = new(int(r.GetPriority()))
	}
	out.Weight = r.Weight
	switch v := r.GetMaxSlots().GetKind().(type) {
	case nil:
	case *structpb.Value_NullValue:
		out.SetMaxSlots = true
	case *structpb.Value_NumberValue:
		n := v.NumberValue
		if n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
			return status.New(status.InvalidArgument, "resources.maxSlots: must be a whole number from 0, or null for no limit (%v)", n)
		}
		out.SetMaxSlots, out.MaxSlots = true, new(int(n))
	default:
		return status.New(status.InvalidArgument, "resources.maxSlots: must be a whole number from 0, or null for no limit")
	}
	return nil
}

// KillTrial kills one trial.
func (t *Trials) KillTrial(ctx context.Context, by *apiv1.User, id int32) error {
	return t.cfg.Experiments.KillTrial(ctx, by, id)
}

// RetainTrialLogs sets the log retention of a trial in days; -1 keeps logs forever.
func (t *Trials) RetainTrialLogs(ctx context.Context, by *apiv1.User, id, days int32) error {
	return t.cfg.Experiments.RetainTrialLogs(ctx, by, id, int(days))
}
