package k8s_test

import (
	"context"
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	"github.com/det-deploy/det-deploy/test/rest"
)

var errKilled = errors.New("the installer was killed")

// phases returns the phases of install and uninstall at whose beginning a run is interrupted.
func phases() []string {
	return []string{"lock the cluster", "compare with the confirmed plan", "apply the plan", "wait for the cluster", "list the remaining objects", "remove the record"}
}

// sampled returns every nth of all phases, or all with `make faults`.
func sampled(phases []string, n int) (out []string) {
	n = faults.Stride(n)
	for i, name := range phases {
		if i%n == n-1 {
			out = append(out, name)
		}
	}
	return out
}

// After an interruption in any phase, the same command succeeds, and uninstall leaves nothing.
func TestResumesWhenItEndsInAnyPhase(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, name := range sampled(phases(), rest.Choose(3, 2)) {
		s.cutting(name, func(ctx context.Context) error { return s.up(ctx) })
		must(t, s.up(t.Context()))
		if p := s.plan(t.Context()); !p.Empty() {
			t.Errorf("install ended in %q and repeated: got plan\n%s", name, text(p))
		}
		s.cutting(name, func(ctx context.Context) error { _, err := s.down(ctx, true); return err })
		if _, err := s.down(t.Context(), true); err != nil {
			t.Errorf("uninstall ended in %q and repeated: got %v", name, err)
		}
		s.wantNothing()
	}
}

// The release of a cluster has all important data of a lost record.
func TestLostRecordIsRestored(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	must(t, s.up(t.Context()))
	must(t, s.installer(t.Context()).Store.Destroy(t.Context()))
	if p := s.plan(t.Context()); !p.Empty() {
		t.Errorf("got plan\n%s", text(p))
	}
	must(t, s.up(t.Context()))
	if _, _, found, err := record.Read(t.Context(), s.installer(t.Context()).Store); err != nil || !found {
		t.Errorf("got found %t and %v, want a record", found, err)
	}
	must(t, s.installer(t.Context()).Store.Destroy(t.Context()))
	_, err := s.down(t.Context(), true)
	must(t, err)
	s.wantNothing()
}

// cutting runs do and cancels it at the beginning of a phase.
func (s *stage) cutting(name string, do func(context.Context) error) {
	ctx, cancel := context.WithCancelCause(s.t.Context())
	defer cancel(nil)
	s.sink = event.Serial(func(e event.Event) {
		if e.Type == event.Started && e.Subject == name {
			cancel(errKilled)
		}
	})
	if err := do(ctx); err == nil {
		s.t.Logf("%q has no such moment here", name)
	}
	s.sink = nil
}
