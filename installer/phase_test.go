package installer

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/event"
)

func TestRunPhases(t *testing.T) {
	t.Parallel()
	errThird := &cloud.Error{Kind: cloud.Quota, Op: "third", Fix: "ask for more"}
	errUndo := errors.New("undo of first")
	for _, tc := range []struct {
		name   string
		fail   bool
		cancel bool
		want   []string
		is     []error
	}{
		{"all go well, nothing is undone", false, false, []string{"do first", "do second", "do third"}, nil},
		{
			"the third fails, the others are undone in reverse",
			true, false,
			[]string{"do first", "do second", "do third", "undo second", "undo first"},
			[]error{errThird, errUndo},
		},
		{
			"cancelled on the way, undone with a live context",
			false, true,
			[]string{"do first", "do second", "undo second", "undo first"},
			[]error{context.Canceled, errUndo},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []string
			say := func(s string, err error) func(context.Context) error {
				return func(ctx context.Context) error {
					if s[:2] == "un" && ctx.Err() != nil {
						t.Errorf("%s: got a dead context", s)
					}
					if tc.cancel && s == "do second" {
						cancel()
					}
					got = append(got, s)
					return err
				}
			}
			var third error
			if tc.fail {
				third = errThird
			}
			err := runPhases(
				ctx, nil,
				phase{Name: "first", Do: say("do first", nil), Undo: say("undo first", errUndo)},
				phase{Name: "second", Do: say("do second", nil), Undo: say("undo second", nil)},
				phase{Name: "third", Do: say("do third", third), Undo: say("undo third", nil)},
			)
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
			for _, want := range tc.is {
				if !errors.Is(err, want) {
					t.Errorf("got %v, want it to hold %v", err, want)
				}
			}
			if len(tc.is) == 0 && err != nil {
				t.Errorf("got %v, want nil", err)
			}
		})
	}
}

func TestRunPhasesReportsEachPhase(t *testing.T) {
	t.Parallel()
	var got []string
	sink := func(e event.Event) {
		got = append(got, string(e.Type)+" "+e.Subject+" "+e.Kind+" "+e.Hint)
	}
	_ = runPhases( // the previous test checks the error
		t.Context(), sink,
		phase{Name: "look", Do: func(context.Context) error { return nil }},
		phase{Name: "act", Do: func(context.Context) error {
			return errors.Join(errors.New("boom"), &cloud.Error{Kind: cloud.Quota, Fix: "ask for more"})
		}},
	)
	want := []string{"started look  ", "done look  ", "started act  ", "failed act quota ask for more"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}
