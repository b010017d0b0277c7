package installer_test

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

func TestStatus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage()
		want := func(when string, want installer.State) {
			t.Helper()
			got, _, err := s.operator("ann").Status(t.Context())
			if err != nil || got != want {
				t.Errorf("%s: got %q and %v, want %q", when, got, err, want)
			}
		}
		want("before", installer.Absent)
		s.world.FailAt(s.world.Calls()+8, faults.Refuse)
		if err := s.up(t.Context()); err == nil {
			t.Fatal("got no failure, want the injected one")
		}
		s.world.Revive()
		want("half made", installer.Degraded)
		must(t, s.up(t.Context()))
		want("up", installer.Running)
		s.size = "200"
		want("changed", installer.Degraded)
		s.size = "100"
		_, err := s.down(t.Context(), false)
		must(t, err)
		time.Sleep(time.Second) //nolint:forbidigo // synctest's clock
		want("down, data kept", installer.Absent)
	})
}
