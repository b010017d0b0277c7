package installer_test

import (
	"slices"
	"testing"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

func TestWhereAClusterStands(t *testing.T) {
	t.Parallel()
	begun, committed := &record.Upgrade{From: oldRelease, To: newRelease}, &record.Upgrade{From: oldRelease, To: newRelease, Committed: true}
	seen := map[installer.Standing]bool{}
	for _, tc := range []struct {
		sight installer.Sight
		want  installer.Standing
	}{
		{installer.Sight{}, installer.Missing},
		{installer.Sight{Runs: oldRelease, Mode: installer.Serve}, installer.Unproven},
		{installer.Sight{Runs: oldRelease, Mode: installer.Serve, Answered: true, Proven: true}, installer.Serving},
		{installer.Sight{Runs: newRelease, Mode: installer.Serve, Proven: true, Former: oldRelease}, installer.Ill},
		{installer.Sight{Runs: newRelease, Mode: installer.Serve, Proven: true}, installer.Serving},
		{installer.Sight{Runs: oldRelease, Mode: installer.Stop, Answered: true, Proven: true}, installer.Lost},
		{installer.Sight{Upgrade: begun, Runs: oldRelease, Mode: installer.Serve, Answered: true}, installer.Begun},
		{installer.Sight{Upgrade: begun, Runs: oldRelease, Mode: installer.Stop, Answered: true}, installer.Halted},
		{installer.Sight{Upgrade: begun, Runs: newRelease, Mode: installer.Hold, Answered: true}, installer.Halted},
		{installer.Sight{Upgrade: committed, Runs: oldRelease, Mode: installer.Stop, Answered: true}, installer.Committed},
		{installer.Sight{Upgrade: committed, Runs: oldRelease, Mode: installer.Serve, Answered: true}, installer.Returned},
		{installer.Sight{Upgrade: committed, Runs: newRelease, Mode: installer.Serve}, installer.Stuck},
		{installer.Sight{Upgrade: committed, Runs: newRelease, Mode: installer.Serve, Answered: true}, installer.Taken},
	} {
		got := installer.StandingOf(tc.sight)
		if got != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.sight, got, tc.want)
		}
		seen[got] = true
	}
	for _, s := range installer.Standings() {
		if !seen[s] {
			t.Errorf("no row leads to %s", s)
		}
	}
}

// Each act works, or the one that it names does.
func TestNoStandingIsADeadEnd(t *testing.T) {
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
