package aws_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// A backup that failed holds nothing, and counts as none.
func TestUpgradeDeletesFailedBackups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		upgrade := func(i int) {
			t.Helper()
			s.Version, s.Programs = fmt.Sprintf("v2.%d.0", i), hostedtest.Programs(strings.Repeat("x", i+1))
			must(t, s.Upgrade(t.Context()))
		}
		var good []string
		for i := range 3 {
			upgrade(i)
		}
		good = snapshotsOf(s.world)
		failed := s.world.FailSnapshot(good[2])
		upgrade(3)
		if got := snapshotsOf(s.world); len(got) != 3 || slices.Contains(got, failed) || got[0] != good[0] {
			t.Errorf("got %v after %v of which %s has failed, want the last three that hold a backup", got, good, failed)
		}
	})
}

func snapshotsOf(w *awstest.World) (out []string) {
	for _, l := range w.Live() {
		if strings.HasPrefix(l, "snapshot ") {
			out = append(out, l)
		}
	}
	return out
}

// The backups of the last three upgrades stay.
func TestUpgradeDeletesOldBackups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		var last []string
		for i := range 5 {
			s.Version, s.Programs = fmt.Sprintf("v2.%d.0", i), hostedtest.Programs(strings.Repeat("x", i+1))
			must(t, s.Upgrade(t.Context()))
			snapshots := snapshotsOf(s.world)
			if want := min(i+1, 3); len(snapshots) != want || len(last) == 3 && snapshots[0] != last[1] {
				t.Errorf("after %d upgrades: got %v after %v, want the last %d", i+1, snapshots, last, want)
			}
			last = snapshots
		}
	})
}
