package hostedtest

import (
	"context"
	"testing"

	"github.com/det-deploy/det-deploy/installer/record"
	installertest "github.com/det-deploy/det-deploy/test/contract/installer"
)

// Life adapts a Stage to the suite for all clouds.
type Life struct {
	*Stage

	// In is the cloud of the cluster.
	In installertest.World
	// Change is the later change of the settings, as flags.
	Change []string
	// Whole reports errors for resources of the cloud that are not as requested; it may be nil.
	Whole func(t *testing.T)
}

var _ installertest.Stage = Life{}

// World returns the cloud.
func (l Life) World() installertest.World { return l.In }

// Update changes the settings and applies them.
func (l Life) Update(ctx context.Context) error {
	l.Set(l.Change...)
	return l.Up(ctx)
}

// Upgrade upgrades the cluster to another version.
func (l Life) Upgrade(ctx context.Context) error {
	l.Version, l.Programs = "v1.1.0", Programs("another")
	return l.Stage.Upgrade(ctx)
}

// Down deletes the cluster with its data.
func (l Life) Down(ctx context.Context) error {
	_, err := l.Stage.Down(ctx, true)
	return err
}

// Resume lets the next process start immediately, without waiting for the lease of the killed one:
// then lists lag most.
func (l Life) Resume() { l.Stage.Resume(l.In) }

// Resume revives the world and treats the lease of the previous process as abandoned.
func (s *Stage) Resume(w installertest.World) {
	w.Revive()
	s.Dead = func(record.Holder) bool { return true }
}

// WantWhole reports an error unless the cluster is as the last command requested it.
func (l Life) WantWhole(t *testing.T) {
	t.Helper()
	l.WantNothingToDo(t)
	l.WantVersion(t)
	if l.Whole != nil {
		l.Whole(t)
	}
}
