package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/master/checkpoint/keep"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/metric"
	"github.com/det-deploy/det-deploy/master/store"
)

// collections are the experiments whose checkpoint policy is to be applied, by key.
func collections() store.Collection[struct{}] {
	return store.Collection[struct{}]{Kind: "checkpoint_collection"}
}

// Collect requests the deletion of the checkpoints that an ended experiment's policy does not keep.
// Call Wake after the commit.
func (c *Checkpoints) Collect(tx *store.Tx, experiment int32) error {
	return collections().Put(tx, record.Key(experiment), "", time.Time{}, struct{}{})
}

// Plan lists the checkpoints of an experiment that its policy deletes and keeps.
type Plan struct {
	Delete, Keep []Record
	// Why holds the reasons for each checkpoint in Keep, by UUID.
	Why map[string][]string
	// Metric is the searcher's metric. Validations holds the metrics of the validation at each
	// checkpoint, by UUID.
	Metric      string
	Validations map[string]map[string]any
}

// Preview returns the plan for the given counts.
func (c *Checkpoints) Preview(ctx context.Context, experiment int32, counts Counts) (Plan, error) {
	return c.plan(ctx, experiment, counts)
}

// Counts is the number of checkpoints to keep. Nil uses the experiment's configuration.
type Counts struct{ ExperimentBest, TrialBest, TrialLatest *int32 }

func (c *Checkpoints) plan(ctx context.Context, experiment int32, counts Counts) (Plan, error) {
	x, err := ConfigOf(ctx, c.cfg.Store, experiment)
	if err != nil {
		return Plan{}, err
	}
	all, err := OfExperiment(ctx, c.cfg.Store, experiment)
	if err != nil {
		return Plan{}, err
	}
	all = slices.DeleteFunc(all, func(rec Record) bool { return !rec.State.Deletable() })
	p := Plan{Validations: map[string]map[string]any{}, Why: map[string][]string{}}
	if x.Searcher.Metric != nil { // unmanaged experiments may have no metric
		p.Metric = *x.Searcher.Metric
	}
	needs, err := Needs(ctx, c.cfg.Store, c.uses, all)
	if err != nil {
		return Plan{}, err
	}
	facts := make([]keep.Checkpoint, 0, len(all))
	for _, rec := range all {
		validation, err := validationAt(ctx, c.cfg.Store, rec)
		if err != nil {
			return Plan{}, err
		}
		p.Validations[rec.UUID] = validation
		facts = append(facts, factsOf(rec, validation[p.Metric], needs[rec.UUID]))
	}
	_, kept := keep.Decide(policyOf(x, counts), facts)
	for _, k := range kept {
		p.Why[k.UUID] = k.Why
	}
	for _, rec := range all {
		if len(p.Why[rec.UUID]) > 0 {
			p.Keep = append(p.Keep, rec)
		} else {
			p.Delete = append(p.Delete, rec)
		}
	}
	return p, nil
}

// validationAt returns the metrics of the validation at the steps of a checkpoint, or nil if no
// validation was reported.
func validationAt(ctx context.Context, r store.Reader, rec Record) (map[string]any, error) {
	report, found, err := metric.At(ctx, r, int64(rec.Trial), metric.Validation, int64(rec.Steps))
	if err != nil || !found {
		return nil, err
	}
	return report.Values.Averages, nil
}

func factsOf(rec Record, value any, needs []string) keep.Checkpoint {
	f := keep.Checkpoint{
		UUID: rec.UUID, Trial: int(rec.Trial), Steps: int(rec.Steps), Reported: rec.Reported,
		Usable: rec.State.Usable(), Needs: needs,
	}
	if n, ok := metric.Number(value); ok {
		f.Metric = &n
	}
	return f
}

func policyOf(x config.Experiment, counts Counts) keep.Policy {
	count := func(asked *int32, configured *int) int {
		switch {
		case asked != nil:
			return int(*asked)
		case configured != nil:
			return *configured
		default:
			return 0
		}
	}
	s := x.CheckpointStorage
	return keep.Policy{
		ExperimentBest:  count(counts.ExperimentBest, s.SaveExperimentBest),
		TrialBest:       count(counts.TrialBest, s.SaveTrialBest),
		TrialLatest:     count(counts.TrialLatest, s.SaveTrialLatest),
		SmallerIsBetter: x.Searcher.SmallerIsBetter == nil || *x.Searcher.SmallerIsBetter,
	}
}

// OfExperiment returns all checkpoints of an experiment.
func OfExperiment(ctx context.Context, r store.Reader, experiment int32) ([]Record, error) {
	trials, err := record.Docs().Trials.IDsByParent(ctx, r, record.Key(experiment))
	if err != nil {
		return nil, err
	}
	return ofParents(ctx, r, trials)
}

// markedEach limits the checkpoints that one transaction marks, so that other writes are not
// delayed.
const markedEach = 1000

// collect applies the policy of an experiment. Checkpoints that have come into use since the plan
// are kept.
func (c *Checkpoints) collect(ctx context.Context, experiment int32) error {
	x, found, err := record.Docs().Experiments.Get(ctx, c.cfg.Store, record.Key(experiment))
	if err != nil {
		return err
	}
	if found && hasEnded(x.Value.State) && !x.Value.Unmanaged { // see elsewhere.go
		p, err := c.plan(ctx, experiment, Counts{})
		if err != nil {
			return fmt.Errorf("collect the checkpoints of experiment %d: %w", experiment, err)
		}
		if err := c.markUnneeded(ctx, p.Delete); err != nil {
			return fmt.Errorf("collect the checkpoints of experiment %d: %w", experiment, err)
		}
	}
	return c.cfg.Store.Write(ctx, func(tx *store.Tx) error { return collections().Delete(tx, record.Key(experiment)) })
}

// hasEnded reports whether the trials have ended and the experiment is not being deleted.
func hasEnded(s lifecycle.State) bool {
	return s == lifecycle.Completed || s == lifecycle.Canceled || s == lifecycle.Error || s == lifecycle.DeleteFailed
}

// markUnneeded marks the checkpoints that are not in use for deletion.
func (c *Checkpoints) markUnneeded(ctx context.Context, all []Record) error {
	now := c.cfg.Now()
	for some := range slices.Chunk(uuidsOf(all), markedEach) {
		err := c.cfg.Store.Write(ctx, func(tx *store.Tx) error {
			free, err := unneeded(ctx, tx, c.uses, some)
			if err != nil {
				return err
			}
			return markAll(tx, Deletion{Globs: AllFiles(), Asked: now, Due: now}, free)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unneeded returns the checkpoints that may be deleted, according to their current records.
func unneeded(ctx context.Context, tx *store.Tx, uses Uses, uuids []string) ([]Record, error) {
	docs, err := records().ByIDs(ctx, tx, uuids)
	if err != nil {
		return nil, err
	}
	var all []Record
	for _, d := range docs {
		if d.Value.State.Deletable() {
			all = append(all, d.Value)
		}
	}
	needs, err := Needs(ctx, tx, uses, all)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(rec Record) bool { return len(needs[rec.UUID]) > 0 }), nil
}
