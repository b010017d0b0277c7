package installer_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

func TestStandingOf(t *testing.T) {
	t.Parallel()
	begun, committed := &record.Upgrade{From: oldRelease, To: newRelease}, &record.Upgrade{From: oldRelease, To: newRelease, Committed: true}
	seen := map[installer.Standing]bool{}
	for _, tc := range []struct {
		observed installer.Observation
		want     installer.Standing
	}{
		{installer.Observation{}, installer.Missing},
		{installer.Observation{Runs: oldRelease, Mode: installer.Serve}, installer.Unproven},
		{installer.Observation{Runs: oldRelease, Mode: installer.Serve, Answered: true, Proven: true}, installer.Serving},
		{installer.Observation{Runs: newRelease, Mode: installer.Serve, Proven: true, Former: oldRelease}, installer.Ill},
		{installer.Observation{Runs: newRelease, Mode: installer.Serve, Proven: true}, installer.Serving},
		{installer.Observation{Runs: oldRelease, Mode: installer.Stop, Answered: true, Proven: true}, installer.Lost},
		{installer.Observation{Upgrade: begun, Runs: oldRelease, Mode: installer.Serve, Answered: true}, installer.Begun},
		{installer.Observation{Upgrade: begun, Runs: oldRelease, Mode: installer.Stop, Answered: true}, installer.Halted},
		{installer.Observation{Upgrade: begun, Runs: newRelease, Mode: installer.Hold, Answered: true}, installer.Halted},
		{installer.Observation{Upgrade: committed, Runs: oldRelease, Mode: installer.Stop, Answered: true}, installer.Committed},
		{installer.Observation{Upgrade: committed, Runs: oldRelease, Mode: installer.Serve, Answered: true}, installer.Returned},
		{installer.Observation{Upgrade: committed, Runs: newRelease, Mode: installer.Serve}, installer.Stuck},
		{installer.Observation{Upgrade: committed, Runs: newRelease, Mode: installer.Serve, Answered: true}, installer.Taken},
	} {
		got := installer.StandingOf(tc.observed)
		if got != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.observed, got, tc.want)
		}
		seen[got] = true
	}
	for _, s := range installer.Standings() {
		if !seen[s] {
			t.Errorf("no row leads to %s", s)
		}
	}
}

// In every state, each action either works or names one that does.
func TestEveryStateHasAnAction(t *testing.T) {
	t.Parallel()
	for _, s := range installer.Standings() {
		for _, a := range []installer.Act{installer.ActInstall, installer.ActUpgrade, installer.ActAbandon, installer.ActUninstall} {
			instead := s.Instead(a)
			if s.Instead(instead) != instead {
				t.Errorf("%s: %s leads to %s, which leads to %s", s, a, instead, s.Instead(instead))
			}
		}
		if !slices.Contains([]installer.Standing{installer.Missing, installer.Unproven}, s) && s.Instead(installer.ActAbandon) != installer.ActAbandon && s != installer.Taken {
			t.Errorf("%s: an upgrade cannot be given up", s)
		}
	}
}

// remembering is a deployment that remembers the previous release, but cannot report whether its
// master has answered.
type remembering struct{ upgradable }

var _ installer.Abandonable = remembering{}

func (remembering) ReadHistory(_ context.Context, s *installer.Observation) error {
	s.Former = oldRelease
	return nil
}

func (r remembering) Return(ctx context.Context, to record.Release, tell func(string)) error {
	return r.SetMode(ctx, to, installer.Serve, tell)
}

func (r remembering) Finish(ctx context.Context, _ func(string)) error {
	return r.act(ctx, "finish", func() { r.m.tell("it is finished") })
}

// unfollowed is a deployment whose upgrades stop after the commit.
type unfollowed struct{ remembering }

func (unfollowed) WaitForAgents(context.Context, record.Release, func(string)) error {
	return errors.New("the line is cut")
}

// The first answer of a new master is recorded. Afterwards the upgrade cannot be undone, even if
// the platform no longer reports the answer.
func TestFirstAnswerIsRecorded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, m := running(t)
		operator := func(wrap func(remembering) installer.Deployment) *installer.Installer {
			in := s.operator("ann")
			in.Deployment = wrap(remembering{upgradable{in.Deployment.(deployment), m}})
			return in
		}
		plain := func(r remembering) installer.Deployment { return r }
		wantAt := func(want installer.Standing) {
			t.Helper()
			in := operator(plain)
			seen, err := installer.ObserveRelease(t.Context(), in.Deployment.(installer.Upgradable), s.record(t))
			if got := installer.StandingOf(seen); err != nil || got != want {
				t.Errorf("got it %s and %v, want it %s", got, err, want)
			}
		}
		s.remember(t, func(r *record.Record) { r.Release, r.Answered = oldRelease, record.Release{} }) // as an older program left it
		wantAt(installer.Serving)
		if _, err := operator(func(r remembering) installer.Deployment { return unfollowed{r} }).Upgrade(t.Context(), newRelease); err == nil {
			t.Fatal("got no error of an upgrade that was interrupted")
		}
		wantAt(installer.Taken)
		if _, err := operator(plain).Abandon(t.Context()); err == nil {
			t.Error("it was given up after its master had answered")
		}
		if _, err := operator(plain).Upgrade(t.Context(), newRelease); err != nil {
			t.Errorf("the same command again: got %v", err)
		}
		if want := append(slices.Clone(smooth), "it is finished"); !slices.Equal(m.story, want) {
			t.Errorf("got %q, want %q: a master that has answered is not rolled back", m.story, want)
		}
		wantAt(installer.Serving)
		m.release = record.Release{Version: "v3"} // an upgrade by another user
		wantAt(installer.Ill)
	})
}
