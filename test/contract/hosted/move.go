package hostedtest

import (
	"context"

	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// UpShown is like Up and returns the messages that it shows about a running plan.
func (s *Stage) UpShown(ctx context.Context) (shown []string, err error) {
	in, _, err := s.Operator(ctx)
	if err != nil {
		return nil, err
	}
	in.Emit = func(e event.Event) {
		if e.Type == event.Progress && e.Scope == event.Phase && e.Subject == "apply the plan" {
			shown = append(shown, e.Message)
		}
	}
	p, err := in.Plan(ctx)
	if err != nil {
		return nil, err
	}
	return shown, in.Up(ctx, p)
}

// ChangesOf returns the positions of the first and the last call of an operation among the changes
// of a journal, counted from 1.
func ChangesOf(journal []faults.Entry, op string) (first, last int) {
	n := 0
	for _, e := range journal {
		if e.Changes {
			n++
		}
		if e.Op != op {
			continue
		}
		last = n
		if first == 0 {
			first = n
		}
	}
	return first, last
}
