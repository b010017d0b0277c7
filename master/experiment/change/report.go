package change

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Reports applies what the program of a trial reports to a draft of its experiment.
type Reports struct{ d *Draft }

// Reports returns the part of the draft that takes reports.
func (d *Draft) Reports() Reports { return Reports{d} }

// Train notes how far a trial is, in steps.
func (r Reports) Train(id, steps int32) {
	t, found := r.d.Trial(id)
	if !found {
		return
	}
	t.Steps, t.Heard = steps, r.d.now
	r.d.trials.put(t)
}

// Validate notes a validation, of which all metrics are given that are known.
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

// readNumber reads a metric, which may be the text of what JSON has no number for.
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

// isBetter compares validations; what is no number is behind all others.
func (r rules) isBetter(a, b *record.Best) bool {
	switch {
	case b == nil || math.IsNaN(float64(b.Metric)):
		return true
	case r.search.SmallerIsBetter:
		return a.Metric < b.Metric
	}
	return a.Metric > b.Metric
}

// SetProgress notes how much of a trial is done.
func (r Reports) SetProgress(id int32, progress float64) {
	t, found := r.d.Trial(id)
	if !found || t.Life.State.Over() || math.IsNaN(progress) {
		return
	}
	t.Progress, t.Heard = min(max(progress, 0), 1), r.d.now
	r.d.trials.put(t)
}

// SetInvalid notes that a program found its hyperparameters impossible; false is one that does not
// run. Repeated, it changes nothing.
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
	r.d.note(record.Event{Kind: record.Reported, Trial: id, Run: t.Life.Run, Reason: "its program found its hyperparameters impossible"})
	r.d.trials.put(t)
	return true
}

// SetRunnerState notes what a program does, in its own words.
func (r Reports) SetRunnerState(id int32, state string) {
	if t, found := r.d.Trial(id); found {
		t.RunnerState, t.Heard = state, r.d.now
		r.d.trials.put(t)
	}
}

// Checkpoint notes a checkpoint: the next run starts from it, and with none from the beginning.
func (r Reports) Checkpoint(id int32, uuid string, steps int32) {
	t, found := r.d.Trial(id)
	if !found || t.Life.State.Over() && !r.d.Record.Unmanaged {
		return
	}
	t.Life.Latest, t.LatestSteps, t.Heard = uuid, steps, r.d.now
	r.d.trials.put(t)
}

// ForgetValidations takes back what was noted of a trial's validations; Revalidate notes those that
// are left.
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

// Revalidate notes a validation that the search knows already.
func (r Reports) Revalidate(id, steps int32, metrics map[string]any) {
	t, found := r.d.Trial(id)
	if metric, ok := readNumber(metrics[r.d.x.rules.search.Metric]); found && ok {
		r.noteValidation(t, &record.Best{Trial: id, Steps: steps, Metric: metric})
	}
}

// Use notes that a trial uses a checkpoint; false is one that uses as many as it may.
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

// explainFailure notes why a program elsewhere failed: the library says that it did first, and then why.
func (r Reports) explainFailure(t record.Trial) bool {
	if t.Life.Invalid() {
		return true
	}
	t.Life.InvalidSince, t.Reason = new(r.d.now), "its hyperparameters are impossible"
	r.d.note(record.Event{Kind: record.Reported, Trial: t.ID, Run: t.Life.Run, Reason: "its program found its hyperparameters impossible"})
	r.d.trials.put(t)
	return true
}
