package contexts

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/master/api/client"
)

// A master that does not answer may be of a cluster that is down, which its status says.
func TestAMasterThatIsAwayNamesItsCluster(t *testing.T) {
	t.Parallel()
	for platform, want := range map[string]string{
		"local": "see whether the cluster is up: det-deploy status --cluster-id lab",
		"":      "check that the master runs and that --master, DET_MASTER or the context names it: det-deploy context show",
	} {
		master, err := Context{Name: "lab", Platform: platform, Master: "http://127.0.0.1:1"}.dialMaster(func(cfg *client.Config) { cfg.RetryFor = -1 })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(master.Close)
		_, err = master.Me(t.Context())
		failed, ok := errors.AsType[*client.Error](err)
		if !ok || failed.Hint() != want {
			t.Errorf("platform %q: got %v, want the hint %q", platform, err, want)
		}
	}
}
