package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/rest"
)

const plainAgent = "container_runtime: process\ntrust_users: true\n"

// TestCrashOnAFullDisk is the storm of TestCrash while the disks of the master and of the agent
// fill up and are emptied again.
func TestCrashOnAFullDisk(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounts small disks; run as root")
	}
	storm{
		cluster: clusterConfig{Agent: plainAgent},
		tasks:   stormTasks(0, 16),
		// Its output goes to the full disk.
		script: func(i int) string {
			return fmt.Sprintf(`i=0; while [ $i -lt %d ]; do until echo line $i 2>/dev/null; do sleep 0.1; done; i=$((i+1)); `+
				`[ $((i %% 9)) = 0 ] && sleep 0.1; done; exit %d`, lines, code(i))
		},
		prepare: func(c *cluster) []string {
			for _, name := range []string{"master", "agent-a"} {
				clustertest.SmallDisk(t, filepath.Join(c.Dir, name))
			}
			return nil
		},
		fault: func(c *cluster, stop <-chan struct{}, random *rand.Rand) {
			for clustertest.Pause(stop, time.Duration(500+random.IntN(1500))*time.Millisecond) {
				var full []string
				for i, name := range []string{"master", "agent-a"} {
					if which := random.IntN(3); which == i || which == 2 {
						full = append(full, filepath.Join(c.Dir, name, "ballast"))
						clustertest.Fill(full[len(full)-1])
					}
				}
				again := clustertest.Pause(stop, time.Duration(500+random.IntN(2000))*time.Millisecond)
				for _, f := range full {
					_ = os.Remove(f)
				}
				if !again {
					return
				}
			}
		},
	}.run(t)
}

// TestCrashWithFewDescriptors is the storm of TestCrash while the agent has few file descriptors.
func TestCrashWithFewDescriptors(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	var agent, limit atomic.Int64
	limit.Store(1024)
	set := func() {
		n := uint64(limit.Load())
		// A killed process has no limit to set.
		_ = unix.Prlimit(int(agent.Load()), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: 4096}, nil)
	}
	storm{
		cluster: clusterConfig{Agent: plainAgent},
		tasks:   stormTasks(0, 16),
		prepare: func(c *cluster) []string {
			c.Started = func(name string, pid int) {
				if name == "agent-a" {
					agent.Store(int64(pid))
					set()
				}
			}
			return nil
		},
		fault: func(_ *cluster, stop <-chan struct{}, random *rand.Rand) {
			for clustertest.Pause(stop, time.Duration(500+random.IntN(1500))*time.Millisecond) {
				limit.Store(int64(10 + random.IntN(20)))
				set()
				again := clustertest.Pause(stop, time.Duration(500+random.IntN(2000))*time.Millisecond)
				limit.Store(1024)
				set()
				if !again {
					return
				}
			}
		},
	}.run(t)
}

// TestCrashInPartitions is the storm of TestCrash while the network drops the messages between
// master and agent, or the agent is suspended, for longer than the master waits: preemptible tasks
// run again on the other agent, without a second copy.
func TestCrashInPartitions(t *testing.T) {
	rest.Only(t)
	const wait = 4 * time.Second
	var hole *swallower
	var agent atomic.Pointer[os.Process]
	storm{
		cluster: clusterConfig{
			Agent:  plainAgent,
			Master: "resource_pools:\n  - pool_name: default\n    agent_reconnect_wait: 4s\n",
		},
		tasks:  stormTasks(0, 16) / 2,
		config: map[string]any{"resources": map[string]any{"slots": 1, "preemptible": true}},
		script: func(i int) string {
			return fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "$DET_ALLOCATION_ID line $i"; i=$((i+1)); `+
				`[ $((i %% 3)) = 0 ] && sleep 1; done; exit %d`, lines, code(i))
		},
		prepare: func(c *cluster) []string {
			hole = newSwallower(t, strings.TrimPrefix(c.URL, "http://"))
			c.Started = func(name string, pid int) {
				if p, err := os.FindProcess(pid); err == nil && name == "agent-a" {
					agent.Store(p)
				}
			}
			return []string{"--master-port", strconv.Itoa(hole.port)}
		},
		beside: func(c *cluster) { c.StartAgent("b", "--artificial-slots", "2") },
		fault: func(c *cluster, stop <-chan struct{}, random *rand.Rand) {
			for clustertest.Pause(stop, time.Duration(1000+random.IntN(3000))*time.Millisecond) {
				cut, join := func() { hole.black.Store(true) }, func() { hole.black.Store(false) }
				if random.IntN(2) == 0 {
					// It may have been killed; then the signal has no effect.
					p := agent.Load()
					cut, join = func() { _ = p.Signal(unix.SIGSTOP) }, func() { _ = p.Signal(unix.SIGCONT) }
				}
				cut()
				again := c.watchCopies(stop, wait+5*time.Second, wait+8*time.Second)
				join()
				if !again {
					return
				}
			}
		},
		check: func(t *testing.T, api *rawAPI, i int, id string) { checkRuns(t, api, i, id) },
	}.run(t)
}

// watchCopies watches the processes of tasks for a while, and reports an error for a task with two
// copies after the allowed time. It reports whether the storm continues.
func (c *cluster) watchCopies(stop <-chan struct{}, allowed, length time.Duration) bool {
	for began := time.Now(); time.Since(began) < length; {
		late := time.Since(began) > allowed
		for task, runs := range runningAllocations() {
			if late && len(runs) > 1 {
				c.T.Errorf("task %s runs %d times, %s after the partition began: %v", task, len(runs), time.Since(began), runs)
				return false
			}
		}
		if !clustertest.Pause(stop, 100*time.Millisecond) {
			return false
		}
	}
	return true
}

// runningAllocations returns the allocations of each task that have a process.
func runningAllocations() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, f := range files {
		environ, err := os.ReadFile(f)
		if err != nil {
			continue // it has exited
		}
		for entry := range bytes.SplitSeq(environ, []byte{0}) {
			if id, found := strings.CutPrefix(string(entry), "DET_ALLOCATION_ID="); found {
				task, _, _ := strings.Cut(id, ".")
				if out[task] == nil {
					out[task] = map[string]bool{}
				}
				out[task][id] = true
			}
		}
	}
	return out
}
