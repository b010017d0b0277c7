package exit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/exit"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

func TestOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want exit.Code
	}{
		{"nothing went wrong", nil, exit.Done},
		{"anything else", errors.New("boom"), exit.Error},
		{"a wrong flag", usage.Errorf("no"), exit.Usage},
		{"a wrong flag, wrapped", fmt.Errorf("x: %w", usage.Errorf("no")), exit.Usage},
		{"a value that a flag gave", fmt.Errorf("x: %w", given(true)), exit.Usage},
		{"a value that a document gave", given(false), exit.Error},
		{"Ctrl-C", fmt.Errorf("list tasks: %w", context.Canceled), exit.Canceled},
		{"Ctrl-C during a plan", fmt.Errorf("x: %w", exit.Continuing(fmt.Errorf("apply: %w", context.Canceled))), exit.Interrupted},
		{"Ctrl-C at the question of a plan", exit.Continuing(unanswered{context.Canceled}), exit.Canceled},
		{"a plan that fails", exit.Continuing(errors.New("boom")), exit.Error},
		{"a limit of ours that ran out is an error", context.DeadlineExceeded, exit.Error},
		{"a platform refuses", &cloud.Error{Kind: cloud.Denied}, exit.Denied},
		{"a platform is out of machines", &cloud.Error{Kind: cloud.NoCapacity}, exit.Capacity},
		{"a quota", errors.Join(errors.New("a"), &cloud.Error{Kind: cloud.Quota}), exit.Capacity},
		{"a task's own code", exit.With(17, nil), 17},
		{"ours beside a task", exit.With(exit.NotTheTask, usage.Errorf("no")), exit.NotTheTask},
		{"a master refuses", refusal(true), exit.Denied},
		{"a master answers otherwise", refusal(false), exit.Error},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := exit.Of(tt.err); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

type refusal bool

func (r refusal) Error() string { return "refused" }
func (r refusal) Denied() bool  { return bool(r) }

type unanswered struct{ error }

func (u unanswered) Unwrap() error    { return u.error }
func (u unanswered) Unanswered() bool { return true }

type given bool

func (g given) Error() string   { return "must be a number" }
func (g given) FromFlags() bool { return bool(g) }

func TestResourceNamesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]exit.Code{}
	for _, r := range exit.Rules() {
		if old, ok := seen[r.Name]; ok {
			t.Errorf("codes %d and %d share the name %q", old, r.Code, r.Name)
		}
		seen[r.Name] = r.Code
		if got := r.Code.Name(); got != r.Name {
			t.Errorf("code %d: got the name %q, want %q", r.Code, got, r.Name)
		}
	}
	if got := exit.Code(17).Name(); got != "task" {
		t.Errorf("a task's own code: got %q, want task", got)
	}
}

func TestSilent(t *testing.T) {
	t.Parallel()
	if !exit.Silent(exit.With(17, nil)) {
		t.Error("a task's code: got a message to print")
	}
	if exit.Silent(exit.With(exit.NotTheTask, errors.New("x"))) || exit.Silent(errors.New("x")) {
		t.Error("an error of ours: got silence")
	}
}
