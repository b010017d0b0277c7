package change

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Reports applies the reports of trials to a draft.
type Reports struct{ d *Draft }

// Reports returns the part of the draft for reports.
func (d *Draft) Reports() Reports { return Reports{d} }

// Train sets the number of completed steps of a trial.
func (r Reports) Train(id, steps int32) {
	t, found := r.d.Trial(id)
	if !found {
		return
	}
	t.Steps, t.Heard = steps, r.d.now
	r.d.trials.put(t)
}

// Validate records a validation and passes it to the search. The metrics are all known metrics of
// the step. It returns an error if the search fails.
func (r Reports) Validate(id, steps int32, metrics map[string]any) error {
	t, found := r.d.Trial(id)
	metric, ok := readNumber(metrics[r.d.x.rules.search.Metric])
	if !found || !ok {
		return nil
	}
	r.noteValidation(t, &record.Best{Trial: id, Steps: steps, Metric: metric})
	time, ok := readNumber(metrics[r.d.x.rules.search.TimeMetric])
	if !ok || t.Number == 0 || math.IsNaN(float64(time)) || math.IsInf(float64(time), 0) {
		return nil
	}
	in := search.Input{News: search.Validated, Trial: t.Number, Time: time, Metric: metric}
	r.d.decisions.queue(in, steps)
	return r.d.settle()
}

func (r Reports) noteValidation(t record.Trial, v *record.Best) {
	t.Latest = v
	if r.d.x.rules.isBetter(v, t.Best) {
		t.Best = v
	}
	if r.d.x.rules.isBetter(v, r.d.Record.Best) {
		r.d.Record.Best = v
	}
	r.d.trials.put(t)
}

// readNumber converts a metric to a number. Infinities and NaN are strings, because JSON has no
// numbers for them.
func readNumber(v any) (search.Number, bool) {
	switch v := v.(type) {
	case float64:
		return search.Number(v), true
	case string, json.Number, int, int64:
		b, err := json.Marshal(v)
		var n search.Number
		return n, err == nil && json.Unmarshal(b, &n) == nil
	}
	return 0, false
}

// isBetter reports whether validation a is better than b. NaN is worse than any number.
func (r rules) isBetter(a, b *record.Best) bool {
	switch {
	case b == nil || math.IsNaN(float64(b.Metric)):
		return true
	case r.search.SmallerIsBetter:
		return a.Metric < b.Metric
	}
	return a.Metric > b.Metric
}

// SetProgress sets the progress of a trial.
func (r Reports) SetProgress(id int32, progress float64) {
	t, found := r.d.Trial(id)
	if !found || t.Life.State.Over() || math.IsNaN(progress) {
		return
	}
	t.Progress, t.Heard = min(max(progress, 0), 1), r.d.now
	r.d.trials.put(t)
}

// SetInvalid records that a program rejected its hyperparameters. It reports false if the trial is
// not running. It is idempotent.
func (r Reports) SetInvalid(id int32) bool {
	t, found := r.d.Trial(id)
	if found && r.d.Record.Unmanaged && t.Life.State == lifecycle.Error {
		return r.explainFailure(t)
	}
	if !found || !t.Life.Running {
		return false
	}
	if t.Life.Invalid() {
		return true
	}
	t.Life = t.Life.ReportInvalid(r.d.now)
	r.d.note(record.Event{Kind: record.Reported, Trial: id, Run: t.Life.Run, Reason: "its program rejected its hyperparameters"})
	r.d.trials.put(t)
	return true
}

// SetRunnerState sets the state that a program reports about itself.
func (r Reports) SetRunnerState(id int32, state string) {
	if t, found := r.d.Trial(id); found {
		t.RunnerState, t.Heard = state, r.d.now
		r.d.trials.put(t)
	}
}

// Checkpoint sets the checkpoint from which the next run starts. If uuid is empty, the run starts
// from the beginning.
func (r Reports) Checkpoint(id int32, uuid string, steps int32) {
	t, found := r.d.Trial(id)
	if !found || t.Life.State.Over() && !r.d.Record.Unmanaged {
		return
	}
	t.Life.Latest, t.LatestSteps, t.Heard = uuid, steps, r.d.now
	r.d.trials.put(t)
}

// ForgetValidations removes the validations of a trial. Revalidate adds the remaining ones.
func (r Reports) ForgetValidations(id int32) {
	t, found := r.d.Trial(id)
	if !found {
		return
	}
	t.Latest, t.Best = nil, nil
	r.d.trials.put(t)
	if r.d.Record.Best != nil && r.d.Record.Best.Trial == id {
		r.d.Record.Best = nil
		for _, other := range r.d.trials.all() {
			if other.Best != nil && r.d.x.rules.isBetter(other.Best, r.d.Record.Best) {
				r.d.Record.Best = other.Best
			}
		}
	}
}

// Revalidate records a validation that the search has already processed.
func (r Reports) Revalidate(id, steps int32, metrics map[string]any) {
	t, found := r.d.Trial(id)
	if metric, ok := readNumber(metrics[r.d.x.rules.search.Metric]); found && ok {
		r.noteValidation(t, &record.Best{Trial: id, Steps: steps, Metric: metric})
	}
}

// Use records that a trial uses a checkpoint. It reports false if the trial already uses the maximum
// number.
func (r Reports) Use(id int32, u record.Use, most int) bool {
	t, found := r.d.Trial(id)
	if !found {
		return true
	}
	t.Uses = slices.DeleteFunc(slices.Clone(t.Uses), func(old record.Use) bool { return old.Checkpoint == u.Checkpoint })
	if len(t.Uses) >= most {
		return false
	}
	t.Uses = append(t.Uses, u)
	r.d.trials.put(t)
	return true
}

// explainFailure records why an unmanaged trial failed. The library reports the reason after the
// failure.
func (r Reports) explainFailure(t record.Trial) bool {
	if t.Life.Invalid() {
		return true
	}
	t.Life.InvalidSince, t.Reason = new(r.d.now), "invalid hyperparameters"
	r.d.note(record.Event{Kind: record.Reported, Trial: t.ID, Run: t.Life.Run, Reason: "its program rejected its hyperparameters"})
	r.d.trials.put(t)
	return true
}
