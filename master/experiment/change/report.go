package change

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Train notes how far a trial is, in steps.
func (d *Draft) Train(id, steps int32) {
	t, found := d.Trial(id)
	if !found {
		return
	}
	t.Steps, t.Heard = steps, d.now
	d.put(t)
}

// Validate notes a validation, of which all metrics are given that are known.
func (d *Draft) Validate(id, steps int32, metrics map[string]any) error {
	t, found := d.Trial(id)
	metric, ok := readNumber(metrics[d.x.rules.search.Metric])
	if !found || !ok {
		return nil
	}
	d.noteValidation(t, &record.Best{Trial: id, Steps: steps, Metric: metric})
	time, ok := readNumber(metrics[d.x.rules.search.TimeMetric])
	if !ok || t.Number == 0 || math.IsNaN(float64(time)) || math.IsInf(float64(time), 0) {
		return nil
	}
	in := search.Input{News: search.Validated, Trial: t.Number, Time: time, Metric: metric}
	d.inbox = append(d.inbox, news{input: in, steps: steps})
	return d.settle()
}

func (d *Draft) noteValidation(t record.Trial, v *record.Best) {
	t.Latest = v
	if d.x.rules.isBetter(v, t.Best) {
		t.Best = v
	}
	if d.x.rules.isBetter(v, d.Record.Best) {
		d.Record.Best = v
	}
	d.put(t)
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

// ReportProgress notes how much of a trial is done.
func (d *Draft) ReportProgress(id int32, progress float64) {
	t, found := d.Trial(id)
	if !found || t.Life.State.Over() || math.IsNaN(progress) {
		return
	}
	t.Progress, t.Heard = min(max(progress, 0), 1), d.now
	d.put(t)
}

// ReportInvalid notes that a program found its hyperparameters impossible; false is one that does not
// run. Repeated, it changes nothing.
func (d *Draft) ReportInvalid(id int32) bool {
	t, found := d.Trial(id)
	if found && d.Record.Unmanaged && t.Life.State == lifecycle.Error {
		return d.explainFailure(t)
	}
	if !found || !t.Life.Running {
		return false
	}
	if t.Life.Invalid() {
		return true
	}
	t.Life = t.Life.ReportInvalid(d.now)
	d.note(record.Event{Kind: record.Reported, Trial: id, Run: t.Life.Run, Reason: "its program found its hyperparameters impossible"})
	d.put(t)
	return true
}

// SetRunnerState notes what a program does, in its own words.
func (d *Draft) SetRunnerState(id int32, state string) {
	if t, found := d.Trial(id); found {
		t.RunnerState, t.Heard = state, d.now
		d.put(t)
	}
}

// Checkpoint notes a checkpoint: the next run starts from it, and with none from the beginning.
func (d *Draft) Checkpoint(id int32, uuid string, steps int32) {
	t, found := d.Trial(id)
	if !found || t.Life.State.Over() && !d.Record.Unmanaged {
		return
	}
	t.Life.Latest, t.LatestSteps, t.Heard = uuid, steps, d.now
	d.put(t)
}

// Fail ends an experiment that cannot go on.
func (d *Draft) Fail(format string, args ...any) error {
	return d.Ask(lifecycle.Fail, fmt.Sprintf(format, args...))
}

// ForgetValidations takes back what was noted of a trial's validations; Revalidate notes those that
// are left.
func (d *Draft) ForgetValidations(id int32) {
	t, found := d.Trial(id)
	if !found {
		return
	}
	t.Latest, t.Best = nil, nil
	d.put(t)
	if d.Record.Best != nil && d.Record.Best.Trial == id {
		d.Record.Best = nil
		for _, other := range d.all() {
			if other.Best != nil && d.x.rules.isBetter(other.Best, d.Record.Best) {
				d.Record.Best = other.Best
			}
		}
	}
}

// Revalidate notes a validation that the search knows already.
func (d *Draft) Revalidate(id, steps int32, metrics map[string]any) {
	t, found := d.Trial(id)
	if metric, ok := readNumber(metrics[d.x.rules.search.Metric]); found && ok {
		d.noteValidation(t, &record.Best{Trial: id, Steps: steps, Metric: metric})
	}
}

// Use notes that a trial uses a checkpoint; false is one that uses as many as it may.
func (d *Draft) Use(id int32, u record.Use, most int) bool {
	t, found := d.Trial(id)
	if !found {
		return true
	}
	t.Uses = slices.DeleteFunc(slices.Clone(t.Uses), func(old record.Use) bool { return old.Checkpoint == u.Checkpoint })
	if len(t.Uses) >= most {
		return false
	}
	t.Uses = append(t.Uses, u)
	d.put(t)
	return true
}
