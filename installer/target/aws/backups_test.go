package aws_test

import (
	"fmt"
	"strings"
	"testing"

	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// The backups of the last three upgrades stay.
func TestUpgradeDeletesOldBackups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		var last []string
		for i := range 5 {
			s.Version, s.Programs = fmt.Sprintf("v2.%d.0", i), hostedtest.Programs(strings.Repeat("x", i+1))
			must(t, s.Upgrade(t.Context()))
			var snapshots []string
			for _, l := range s.world.Live() {
				if strings.HasPrefix(l, "snapshot ") {
					snapshots = append(snapshots, l)
				}
			}
			if want := min(i+1, 3); len(snapshots) != want || len(last) == 3 && snapshots[0] != last[1] {
				t.Errorf("after %d upgrades: got %v after %v, want the last %d", i+1, snapshots, last, want)
			}
			last = snapshots
		}
	})
}
