package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/experiment/record"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

func TestRungs(t *testing.T) {
	t.Parallel()
	rank := func(trial int, r search.Rank) search.Action {
		return search.Action{Kind: search.RankTrial, Trial: trial, Rank: &r}
	}
	history := func(actions ...search.Action) (events []record.Event) {
		for _, a := range actions {
			events = append(events, record.Event{Kind: record.Searched, Search: &search.Event{Decision: search.Decision{Actions: []search.Action{a}}}})
		}
		return append(events, record.Event{Kind: record.Created})
	}
	ids := map[int]int32{1: 11, 2: 12, 3: 13}
	for name, tt := range map[string]struct {
		events []record.Event
		want   string
	}{
		"no search": {history(), ""},
		"best first, by rung": {history(
			rank(1, search.Rank{Rung: 0, Time: 4, Metric: 0.5, Place: 1, GoesOn: true}),
			rank(2, search.Rank{Rung: 0, Time: 4, Metric: 0.7, Place: 2}),
			rank(1, search.Rank{Rung: 1, Time: 16, Metric: 0.3, Place: 1}),
			rank(3, search.Rank{Rung: 0, Time: 4, Metric: 0.4, Place: 1, GoesOn: true}),
		), "0/0: 13=0.4+ 11=0.5+ 12=0.7 | 0/1: 11=0.3"},
		"a failed trial has no metric": {history(rank(1, search.Rank{Bracket: 1, Place: 1, Worst: true})), "1/0: 11="},
		"a dropped trial":              {history(rank(1, search.Rank{Place: 1, Metric: 1}), search.Action{Kind: search.DropTrial, Trial: 1}), "0/0:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parts []string
			for _, r := range rungs(tt.events, ids) {
				text := fmt.Sprintf("%d/%d:", r.GetBracket(), r.GetRung())
				for _, p := range r.GetPlaces() {
					text += fmt.Sprintf(" %d=", p.GetTrialId())
					if p.Metric != nil {
						text += fmt.Sprint(p.GetMetric())
					}
					if p.GetGoesOn() {
						text += "+"
					}
				}
				parts = append(parts, text)
			}
			if got := strings.Join(parts, " | "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
