package experiment

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/experiment/record"
)

// NamedTrial is a trial with its position among the trials of its experiment, from 1.
type NamedTrial struct {
	TrialView
	Position int
	Username string
}

// TrialsNamed returns at most limit trials for a text: E stands for the trial with this ID and the trials of
// this experiment, E.N for the Nth trial of the experiment, and E.TASK for those with a task whose ID
// begins so. Without text these are the latest trials. An experiment of another number is not read.
func (v *views) TrialsNamed(ctx context.Context, text string, limit int) ([]NamedTrial, error) {
	if text == "" {
		return v.latestTrials(ctx, limit)
	}
	number, rest, dotted := strings.Cut(text, ".")
	id, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return nil, nil //nolint:nilerr // other texts stand for no trial
	}
	var out []NamedTrial
	if !dotted {
		if out, err = v.trialWithID(ctx, int32(id)); err != nil {
			return nil, err
		}
	}
	e, err := v.reg.find(int32(id))
	if err != nil {
		return out, nil //nolint:nilerr // only a trial has this number
	}
	switch position, err := strconv.Atoi(rest); {
	case rest == "":
		more, err := v.trialsFrom(ctx, e, 0, limit-len(out))
		return append(out, more...), err
	case err == nil && len(rest) <= positionDigits:
		return v.trialsAt(ctx, e, position, limit)
	}
	return v.trialsOfTasks(ctx, e, text, limit)
}

// positionDigits is the length up to which digits after the dot are a position and not the beginning of a
// task.
const positionDigits = 7

// latestTrials returns the trials of the latest experiments.
func (v *views) latestTrials(ctx context.Context, limit int) ([]NamedTrial, error) {
	var out []NamedTrial
	for _, e := range slices.Backward(v.reg.all()) {
		if len(out) >= limit {
			break
		}
		total := e.stored().Trials
		n := min(total, limit-len(out))
		list, err := v.trialsFrom(ctx, e, total-n, n)
		if err != nil {
			return nil, err
		}
		slices.Reverse(list)
		out = append(out, list...)
	}
	return out, nil
}

// trialWithID returns the trial with an ID, or nothing.
func (v *views) trialWithID(ctx context.Context, id int32) ([]NamedTrial, error) {
	e, t, err := v.readTrial(ctx, id)
	if status.Of(err) == status.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := v.TrialIDs(ctx, e.id)
	at, _ := slices.BinarySearch(ids, id)
	return v.nameTrials(e, at, []record.Trial{t}), err
}

// trialsAt returns the trial at a position, and those whose position begins with its digits.
func (v *views) trialsAt(ctx context.Context, e *entry, position, limit int) ([]NamedTrial, error) {
	var out []NamedTrial
	for first, n := position, 1; first >= 1 && first <= e.stored().Trials && len(out) < limit; first, n = first*10, n*10 {
		list, err := v.trialsFrom(ctx, e, first-1, min(n, limit-len(out)))
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// trialsOfTasks returns the trials with a task that begins with text.
func (v *views) trialsOfTasks(ctx context.Context, e *entry, text string, limit int) ([]NamedTrial, error) {
	all, err := v.allTrials(ctx, e)
	if err != nil {
		return nil, err
	}
	var out []NamedTrial
	for at, t := range all {
		if len(out) < limit && slices.ContainsFunc(t.Tasks, func(task string) bool { return strings.HasPrefix(task, text) }) {
			out = append(out, v.nameTrials(e, at, all[at:at+1])...)
		}
	}
	return out, nil
}

// trialsFrom returns at most n trials of an experiment from an index on.
func (v *views) trialsFrom(ctx context.Context, e *entry, from, n int) ([]NamedTrial, error) {
	if n <= 0 {
		return nil, nil
	}
	list, err := v.cutTrials(ctx, e, TrialQuery{Cut: func(total int) (int, int) { return min(from, total), min(from+n, total) }})
	return v.nameTrials(e, from, list), err
}

func (v *views) nameTrials(e *entry, from int, list []record.Trial) []NamedTrial {
	out := make([]NamedTrial, len(list))
	for i, t := range v.trialViews(e, list) {
		out[i] = NamedTrial{t, from + i + 1, e.stored().Username}
	}
	return out
}
