package view

import (
	"context"
	"fmt"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// History returns the events of an experiment, oldest first.
func (e *Experiments) History(ctx context.Context, id int32, offset, limit int) (*apiv1.GetExperimentHistoryResponse, error) {
	all, err := e.cfg.Experiments.History(ctx, id)
	if err != nil {
		return nil, err
	}
	trials, err := e.cfg.Experiments.Trials(ctx, id)
	if err != nil {
		return nil, err
	}
	h := history{ids: map[int]int32{}, stopped: map[int32]string{}}
	for _, t := range trials {
		h.ids[t.Number] = t.ID
		switch {
		case t.Full:
			h.stopped[t.ID] = "done"
		case t.Stopped:
			h.stopped[t.ID] = "stopped early"
		}
	}
	from, to, page := cutPage(len(all), int32(offset), int32(limit))
	out := &apiv1.GetExperimentHistoryResponse{Pagination: page}
	for _, event := range all[from:to] {
		out.Events = append(out.Events, h.show(event))
	}
	return out, nil
}

// history maps the positions of trials in the search to their IDs, and has how the search stopped trials.
type history struct {
	ids     map[int]int32
	stopped map[int32]string
}

func (h history) show(v record.Event) *apiv1.ExperimentEvent {
	m := &apiv1.ExperimentEvent{Number: int32(v.Number), Time: toTime(v.At), Username: v.By, Kind: string(v.Kind), Text: h.describe(v)}
	if v.Trial != 0 {
		m.TrialId = &v.Trial
	}
	return m
}

// describe returns an event as a sentence.
func (h history) describe(v record.Event) string {
	switch v.Kind {
	case record.Created:
		return joinReason("the experiment was created", v.Reason)
	case record.Asked:
		return joinReason(fmt.Sprintf("%s was requested; the state is %s", v.Request, describeState(v.State)), v.Reason)
	case record.StateChanged:
		return joinReason("the state is "+describeState(v.State), v.Reason)
	case record.RunBegan:
		return joinReason(fmt.Sprintf("trial %d started run %d", v.Trial, v.Run), v.Reason)
	case record.RunEnded:
		return joinReason(fmt.Sprintf("run %d of trial %d ended (%s)", v.Run, v.Trial, h.describeCause(v)), v.Reason)
	case record.Continued:
		return joinReason("the experiment was continued", v.Reason)
	case record.Searched:
		return h.describeSearch(v)
	case record.Changed, record.Reported:
	}
	if v.Trial != 0 {
		return joinReason(fmt.Sprintf("trial %d", v.Trial), v.Reason)
	}
	return v.Reason
}

// describeState returns a state of an experiment in the words of lists, and ending while its trials end.
func describeState(s lifecycle.State) string {
	if s.Stopping() {
		return "ending"
	}
	return strings.ReplaceAll(string(apiv1.StatusOf(string(s))), "_", " ")
}

// describeCause returns the cause of the end of a run. A run that was signalled to stop ends like one whose
// machine was lost.
func (h history) describeCause(v record.Event) string {
	switch {
	case v.Cause != lifecycle.Lost:
	case v.Next == lifecycle.Done && h.stopped[v.Trial] != "":
		return h.stopped[v.Trial]
	case v.Next == lifecycle.Held:
		return "paused"
	}
	return string(v.Cause)
}

func joinReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// describeSearch returns an input of the search and the decision, such as "trial 7 was stopped at 16
// epochs: 0.412 is 5th of 9, 3 continue".
func (h history) describeSearch(v record.Event) string {
	if v.Search == nil {
		return v.Reason
	}
	parts := []string{h.describeInput(v)}
	for _, a := range v.Search.Decision.Actions {
		if text := h.describeAction(a); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

func (h history) describeInput(v record.Event) string {
	in := v.Search.Input
	switch in.News {
	case search.Started:
		return "the search started"
	case search.Validated:
		return fmt.Sprintf("trial %d reported %s at step %d", h.ids[in.Trial], in.Metric, v.Steps)
	case search.Ended:
		return fmt.Sprintf("trial %d ended: %s", h.ids[in.Trial], in.End)
	}
	return string(in.News)
}

func (h history) describeAction(a search.Action) string {
	switch a.Kind {
	case search.CreateTrial:
		return fmt.Sprintf("trial %d was created", h.ids[a.Trial])
	case search.StopTrial:
		return fmt.Sprintf("trial %d was %s", h.ids[a.Trial], a.Reason)
	case search.FinishSearch:
		return "the search has ended: " + a.Reason
	case search.DropTrial:
		return fmt.Sprintf("trial %d is no longer ranked: %s", h.ids[a.Trial], a.Reason)
	case search.RankTrial:
	}
	return a.Reason
}
