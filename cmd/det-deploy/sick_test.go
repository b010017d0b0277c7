package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

// TestASickAgentFailsNoTask fills the disk of the larger of two agents, or limits its file
// descriptors. The agent is shown as sick, every task succeeds on the other agent, and the agent
// gets tasks again when it has recovered.
func TestASickAgentFailsNoTask(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, lack string
		prepare    func(t *testing.T, c *cluster)
		fall       func(t *testing.T, c *cluster) (recover func())
	}{
		{
			name: "a full disk", lack: "disk",
			prepare: func(t *testing.T, c *cluster) {
				t.Helper()
				if os.Geteuid() != 0 {
					t.Skip("mounts a small disk; run as root")
				}
				clustertest.SmallDisk(t, filepath.Join(c.Dir, "agent-a"))
			},
			fall: func(_ *testing.T, c *cluster) func() {
				ballast := filepath.Join(c.Dir, "agent-a", "ballast")
				clustertest.Fill(ballast)
				return func() { _ = os.Remove(ballast) }
			},
		},
		{
			name: "few descriptors", lack: "descriptors",
			prepare: func(*testing.T, *cluster) {},
			fall: func(t *testing.T, c *cluster) func() {
				t.Helper()
				limit := func(n uint64) {
					err := unix.Prlimit(c.Agents["a"].Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: 4096}, nil)
					if err != nil {
						t.Fatal(err)
					}
				}
				limit(8)
				return func() { limit(1024) }
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, clusterConfig{Agent: plainAgent})
			tt.prepare(t, c)
			c.StartMaster()
			c.Login()
			c.StartAgent("a", "--artificial-slots", "4")
			c.StartAgent("b", "--artificial-slots", "2")
			c.connected(2)
			// Listed agents may not have stored their credential yet, without which they cannot connect again.
			c.Eventually("agent a has stored its credential", time.Minute, func() error {
				_, err := os.Stat(filepath.Join(c.Dir, "agent-a", "credential"))
				return err
			})
			recover := tt.fall(t, c)
			api := &rawAPI{t: t, url: c.URL, config: map[string]any{"resources": map[string]any{"slots": 1}}}
			ids := make([]string, 12)
			for i := range ids {
				ids[i] = api.launch(i)
			}
			c.Eventually("it is shown as sick", time.Minute, func() error {
				if out := c.Run("agent", "list"); !strings.Contains(out, "sick ("+tt.lack+")") {
					return fmt.Errorf("got\n%s", out)
				}
				return nil
			})
			if err := waitAll(api, ids); err != nil {
				t.Fatal(err)
			}
			for i, id := range ids {
				checkTask(t, api, i, id)
			}
			recover()
			c.connected(2)
		})
	}
}
