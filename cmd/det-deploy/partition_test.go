package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/rest"
)

// swallower forwards bytes until it is told to discard them: connections stay open, and neither end
// gets an error.
type swallower struct {
	port  int
	black atomic.Bool
}

func newSwallower(t *testing.T, to string) *swallower {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &swallower{port: l.Addr().(*net.TCPAddr).Port}
	var all sync.WaitGroup
	var open sync.Map
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := new(net.Dialer).DialContext(t.Context(), "tcp", to)
			if err != nil {
				_ = from.Close()
				continue
			}
			open.Store(from, true)
			open.Store(upstream, true)
			all.Go(func() { s.pass(from, upstream) })
			all.Go(func() { s.pass(upstream, from) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		open.Range(func(c, _ any) bool { _ = c.(io.Closer).Close(); return true })
		all.Wait()
	})
	return s
}

func (s *swallower) pass(from, to net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if s.black.Load() {
			if err != nil {
				return // the other end is not notified
			}
			continue
		}
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// naps returns the arguments of a unique sleep, by which its processes are found: a task may
// neither know its PID on the machine nor write outside of its directory.
func naps() string { return fmt.Sprintf("600.%06d", time.Now().UnixNano()%1_000_000) }

// copies returns the PIDs of the processes with this sleep.
func copies(nap string) (alive []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && string(line) == "sleep\x00"+nap+"\x00" {
			alive = append(alive, filepath.Base(filepath.Dir(f)))
		}
	}
	return alive
}

// reconnectWait is the agent_reconnect_wait of the clusters below: an agent kills its tasks five
// seconds before the master runs them on another agent.
const reconnectWait = 10 * time.Second

// split has two agents. The first runs a preemptible task and is connected through a swallower.
type split struct {
	*cluster
	hole *swallower
	nap  string
	// first is the PID of the task on agent a.
	first string
}

func newSplit(t *testing.T) *split {
	t.Helper()
	s := &split{nap: naps(), cluster: newCluster(t, clusterConfig{
		Master: "resource_pools:\n  - pool_name: default\n    agent_reconnect_wait: " + reconnectWait.String() + "\n",
		Agent:  "container_runtime: process\nartificial_slots: 1\n",
	})}
	s.StartMaster()
	s.Login()
	s.hole = newSwallower(t, strings.TrimPrefix(s.URL, "http://"))
	s.StartAgent("a", "--master-port", strconv.Itoa(s.hole.port))
	s.connected(1)
	s.Write("task.yaml", "resources:\n  slots: 1\n  preemptible: true\n")
	s.Run("task", "run", "--detach", "--config", filepath.Join(s.Dir, "task.yaml"), "--", "exec sleep "+s.nap)
	s.Eventually("the task runs", time.Minute, func() error {
		if len(copies(s.nap)) != 1 {
			return fmt.Errorf("%d run", len(copies(s.nap)))
		}
		return nil
	})
	s.first = copies(s.nap)[0]
	s.StartAgent("b")
	s.connected(2)
	t.Cleanup(func() {
		for _, pid := range copies(s.nap) {
			n, _ := strconv.Atoi(pid)
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	})
	return s
}

// moves waits until the task runs on the other agent only, and returns the time from began to the
// end of its first copy. There must never be two copies.
func (s *split) moves(began time.Time) (ended time.Duration) {
	s.T.Helper()
	s.Eventually("the task runs on the other agent", 2*time.Minute, func() error {
		now := copies(s.nap)
		switch {
		case len(now) > 1:
			s.T.Errorf("after %s: got %d copies at once", time.Since(began), len(now))
		case ended == 0 && (len(now) == 0 || now[0] != s.first):
			ended = time.Since(began)
		}
		if len(now) == 1 && now[0] != s.first {
			return nil
		}
		return fmt.Errorf("%v run", now)
	})
	return ended
}

// TestPartitionedAgentEndsReplacedContainers turns an agent's connection into a black hole: its
// preemptible task ends and runs on the other agent, and there are never two copies.
func TestPartitionedAgentEndsReplacedContainers(t *testing.T) {
	t.Parallel()
	s := newSplit(t)
	began := time.Now()
	s.hole.black.Store(true)
	t.Logf("the first copy ended after %s; the wait is %s", s.moves(began), reconnectWait)
}

// TestResumedAgentEndsItsCopy suspends an agent, which cannot end its task; after the
// wait the master runs the task on another agent. When the agent is resumed, only the second copy
// remains, and its result counts.
func TestResumedAgentEndsItsCopy(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newSplit(t)
	pid := s.Agents["a"].Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) }) // it may have exited
	second := s.secondCopy()
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.staysAlone(second)
}

// TestAKilledAgentEndsItsCopyWhenItIsBack does the same with an agent that is killed and restarted
// much later.
func TestAKilledAgentEndsItsCopyWhenItIsBack(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	s := newSplit(t)
	kill(s.Agents["a"])
	second := s.secondCopy()
	s.Agents["a"] = s.Spawn("agent-a", s.Agents["a"].Args[1:]...)
	s.staysAlone(second)
}

// secondCopy waits until the task also runs on the other agent, and returns its PID there.
func (s *split) secondCopy() (pid string) {
	s.T.Helper()
	s.Eventually("the task runs on the other agent", 2*time.Minute, func() error {
		now := copies(s.nap)
		for _, pid = range now {
			if pid != s.first {
				return nil
			}
		}
		return fmt.Errorf("%v run", now)
	})
	return pid
}

// staysAlone waits until both agents are connected and only the second copy of the task is running.
func (s *split) staysAlone(second string) {
	s.T.Helper()
	s.connected(2)
	s.Eventually("the second copy alone runs", time.Minute, func() error {
		if now := copies(s.nap); len(now) != 1 || now[0] != second {
			return fmt.Errorf("%v run, want %s", now, second)
		}
		return nil
	})
	if out := s.Run("task", "list"); !strings.Contains(out, "running") {
		s.T.Errorf("the task does not run any more:\n%s", out)
	}
}
