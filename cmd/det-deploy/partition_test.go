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
)

// swallower passes bytes on until it is told to swallow them: connections stay, and
// nobody is told anything.
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
				return // the other end hears nothing of it
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

// naps makes a sleep that no other test makes, by which its processes are found: a task
// may neither know its number on the machine nor write outside of its directory.
func naps() string { return fmt.Sprintf("600.%06d", time.Now().UnixNano()%1_000_000) }

// copies are the processes that sleep so.
func copies(nap string) (alive []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && string(line) == "sleep\x00"+nap+"\x00" {
			alive = append(alive, filepath.Base(filepath.Dir(f)))
		}
	}
	return alive
}

// TestAPartitionedAgentEndsWhatIsRunElsewhere: its connection becomes a black hole; its
// preemptible task ends within the wait and five seconds, and runs on the other agent,
// and there were never two.
func TestAPartitionedAgentEndsWhatIsRunElsewhere(t *testing.T) {
	t.Parallel()
	const wait = 6 * time.Second
	c := newCluster(t, clusterConfig{
		Master: "resource_pools:\n  - pool_name: default\n    agent_reconnect_wait: 6s\n",
		Agent:  "container_runtime: process\nartificial_slots: 1\n",
	})
	c.StartMaster()
	c.login()
	hole := newSwallower(t, strings.TrimPrefix(c.URL, "http://"))
	c.StartAgent("a", "--master-port", strconv.Itoa(hole.port))
	c.connected(1)
	nap := naps()
	c.Write("task.yaml", "resources:\n  slots: 1\n  preemptible: true\n")
	c.Run("task", "run", "--detach", "--config", filepath.Join(c.Dir, "task.yaml"), "--", "exec sleep "+nap)
	c.Eventually("the task runs", time.Minute, func() error {
		if len(copies(nap)) != 1 {
			return fmt.Errorf("%d run", len(copies(nap)))
		}
		return nil
	})
	first := copies(nap)[0]
	c.StartAgent("b")
	c.connected(2)
	hole.black.Store(true)
	began := time.Now()
	var ended time.Duration
	c.Eventually("the task runs on the other agent", 2*time.Minute, func() error {
		now := copies(nap)
		switch {
		case len(now) > 1:
			t.Errorf("after %s: got %d copies at once", time.Since(began), len(now))
		case ended == 0 && (len(now) == 0 || now[0] != first):
			ended = time.Since(began)
		}
		if len(now) == 1 && now[0] != first {
			return nil
		}
		return fmt.Errorf("%v run", now)
	})
	if ended > wait+5*time.Second {
		t.Errorf("the first copy ended after %s, want %s at most", ended, wait+5*time.Second)
	}
	t.Logf("the first copy ended after %s, the second ran after %s", ended, time.Since(began))
	for _, pid := range copies(nap) {
		n, _ := strconv.Atoi(pid)
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
}
