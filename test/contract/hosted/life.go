package hostedtest

import (
	"context"
	"testing"

	"github.com/det-deploy/det-deploy/installer/record"
	installertest "github.com/det-deploy/det-deploy/test/contract/installer"
)

// Life is a stage as the suite of all clouds sees it.
type Life struct {
	*Stage

	// In is the cloud that it is in.
	In installertest.World
	// Change is what is asked for later, as flags.
	Change []string
	// Whole complains of what its cloud does not have as it is wanted; it may be nil.
	Whole func(t *testing.T)
}

var _ installertest.Stage = Life{}

// World is the cloud.
func (l Life) World() installertest.World { return l.In }

// Update changes what was asked for.
func (l Life) Update(ctx context.Context) error {
	l.Set(l.Change...)
	return l.Up(ctx)
}

// Upgrade brings the cluster to another version.
func (l Life) Upgrade(ctx context.Context) error {
	l.Version, l.Programs = "v1.1.0", Programs("another")
	return l.Stage.Upgrade(ctx)
}

// Down takes the cluster down with its data.
func (l Life) Down(ctx context.Context) error {
	_, err := l.Stage.Down(ctx, true)
	return err
}

// Resume lets the next process go on at once, without waiting for the lease of the one
// that was killed: that is when lists lag most.
func (l Life) Resume() { l.Stage.Resume(l.In) }

// Resume revives a world, and ends the lease of the process before.
func (s *Stage) Resume(w installertest.World) {
	w.Revive()
	s.Dead = func(record.Holder) bool { return true }
}

// WantWhole complains of a cluster that is not as the last command wants it.
func (l Life) WantWhole(t *testing.T) {
	t.Helper()
	l.WantNothingToDo(t)
	l.WantVersion(t)
	if l.Whole != nil {
		l.Whole(t)
	}
}
