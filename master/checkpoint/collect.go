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

// collections are the experiments whose policy is to be carried out, by their key.
func collections() store.Collection[struct{}] {
	return store.Collection[struct{}]{Kind: "checkpoint_collection"}
}

// Collect asks for what an experiment's policy does not keep to be deleted, once it has
// ended. Call Wake when that is stored.
func (c *Checkpoints) Collect(tx *store.Tx, experiment int32) error {
	return collections().Put(tx, record.Key(experiment), "", time.Time{}, struct{}{})
}

// Plan is what a policy would delete of an experiment, and why the rest stays.
type Plan struct {
	Delete, Keep []Record
	// Why is for those of Keep, by UUID.
	Why map[string][]string
	// Metric is the searcher's, and Validations what was measured at each checkpoint, by UUID.
	Metric      string
	Validations map[string]map[string]any
}

// Preview is what would be deleted now. Nil counts are those of the experiment's configuration.
func (c *Checkpoints) Preview(ctx context.Context, experiment int32, counts Counts) (Plan, error) {
	return c.plan(ctx, experiment, counts)
}

// Counts is how many checkpoints are kept; nil is as the experiment's configuration says.
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
	if x.Searcher.Metric != nil { // experiments that run elsewhere may have none
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

// validationAt is what was measured at a checkpoint's steps, nil for nothing.
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

// OfExperiment reads all checkpoints of an experiment.
func OfExperiment(ctx context.Context, r store.Reader, experiment int32) ([]Record, error) {
	trials, err := record.Docs().Trials.IDsByParent(ctx, r, record.Key(experiment))
	if err != nil {
		return nil, err
	}
	return ofParents(ctx, r, trials)
}

// markedEach is how many checkpoints one transaction marks: others write to the store, too.
const markedEach = 1000

// collect carries out an experiment's policy. What has become needed since the plan stays.
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

// hasEnded says that no trial reports any more, and that the experiment is not being deleted.
func hasEnded(s lifecycle.State) bool {
	return s == lifecycle.Completed || s == lifecycle.Canceled || s == lifecycle.Error || s == lifecycle.DeleteFailed
}

// markUnneeded marks those of all that nothing needs.
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

// unneeded is those that may be deleted, as they are now.
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
