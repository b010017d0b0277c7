package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/master/rm"
)

func TestJudgeAfter(t *testing.T) {
	t.Parallel()
	outcome := func(id rm.TaskID) Outcome { return Outcome(id) }
	for _, tt := range []struct {
		name   string
		after  []Dependency
		left   []Dependency
		missed string
	}{
		{"nothing", nil, nil, ""},
		{"open ones are left", []Dependency{{"open", false}, {"open", true}, {"failed", false}}, []Dependency{{"open", false}, {"open", true}}, ""},
		{"any end will do", []Dependency{{"succeeded", false}, {"failed", false}, {"unknown", false}}, nil, ""},
		{"one succeeded", []Dependency{{"succeeded", true}}, nil, ""},
		{"one failed while another is open", []Dependency{{"open", true}, {"failed", true}}, nil, "task failed was to succeed before, and did not"},
		{"one is forgotten", []Dependency{{"unknown", true}}, nil, "task unknown was to succeed before, and its result is no longer known"},
	} {
		left, missed := JudgeAfter(tt.after, outcome)
		if d := cmp.Diff(left, tt.left); d != "" || missed != tt.missed {
			t.Errorf("%s: got %q, want %q; -got +want:\n%s", tt.name, missed, tt.missed, d)
		}
	}
}

func TestAfterNote(t *testing.T) {
	t.Parallel()
	for want, after := range map[string][]Dependency{
		"":                               nil,
		"starts after the end of task a": {{"a", false}},
		"starts after the success of task a and 2 more": {{"a", true}, {"b", false}, {"c", false}},
	} {
		if got := AfterNote(after); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
