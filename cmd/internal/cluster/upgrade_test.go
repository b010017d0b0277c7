package cluster

import (
	"context"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
)

// given is a cluster without an upgrade in progress whose tasks are paused.
type given struct{ paused bool }

func (*given) ID() string     { return "lab" }
func (*given) Abandons() bool { return true }

func (*given) PlanAbandon(context.Context) (installer.Abandoned, error) {
	return installer.Abandoned{}, nil
}

func (*given) Abandon(context.Context) (installer.Abandoned, error) {
	panic("an upgrade was given up that was not under way")
}

func (g *given) Unpause(context.Context) error { g.paused = false; return nil }

// A run that abandoned the upgrade and could not reach the master leaves resuming the tasks to the next
// run, which finds nothing else to do.
func TestRepeatedAbandonResumesTasks(t *testing.T) {
	t.Parallel()
	s, _, _ := term.Test("", false)
	for _, dry := range []bool{true, false} {
		g := &given{paused: true}
		o := &upgradeOptions{changing{selected: selected{Streams: s}, Consent: Consent{DryRun: dry, Yes: true}}}
		if err := o.abandon(t.Context(), prompt{Streams: s}, g); err != nil || g.paused != dry {
			t.Errorf("dry run %t: got paused %t and %v, want it so in a dry run alone", dry, g.paused, err)
		}
	}
}
