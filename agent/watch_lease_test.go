package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/dockertest"
)

const (
	// leasedWait is the reconnect wait while the tasks have to survive, also on a busy machine.
	// shortWait is the wait when they may end.
	leasedWait = 20 * time.Second
	shortWait  = 4 * time.Second
	// overdueMost is how long after the wait a process may still run on a busy machine; the master
	// allows five seconds.
	overdueMost = 30 * time.Second
)

// leased is an agent in a separate process with two tasks: one may be restarted elsewhere, the
// other may not.
type leased struct {
	*peer
	t      testing.TB
	dir    string
	victim *victim
	// again and only are the sleep times of the two tasks, which identify their processes.
	again, only string
	// ids are the IDs of the containers in the same order; names are unique in an engine.
	ids [2]string
}

func newLeased(t *testing.T, docker string, change ...func(*agentv1.Start)) *leased {
	t.Helper()
	return newLeasedIn(t, t.TempDir(), docker, change...)
}

func newLeasedIn(t *testing.T, dir, docker string, change ...func(*agentv1.Start)) *leased {
	t.Helper()
	k := &leased{t: t, peer: newPeer(t), dir: dir, again: nap(1), only: nap(2)}
	k.wait = leasedWait
	k.ids = [2]string{"again-" + filepath.Base(t.Name()), "only-" + filepath.Base(t.Name())}
	v := victimSettings{Dir: k.data(), Docker: docker}
	v.Host, v.Port = k.address()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(k.dir, "settings.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, n := range []string{k.again, k.only} {
			for _, pid := range sleepers(n) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	k.victim = startVictim(t, k.dir)
	k.start(k.ids[1], "exec sleep "+k.only, change...)
	k.start(k.ids[0], "exec sleep "+k.again, append(change, func(o *agentv1.Start) { o.Rerun = true })...)
	for _, id := range k.ids {
		k.awaitState(id, apiv1.Container_STATE_RUNNING)
	}
	k.eventually("both tasks run", func() error { return wants(k.again, 1, k.only, 1) })
	return k
}

func (k *leased) data() string { return filepath.Join(k.dir, "data") }

func (k *leased) eventually(what string, is func() error) {
	k.t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if err = is(); err == nil {
			return
		}
	}
	k.t.Fatalf("in a minute it never came about that %s: %v", what, err)
}

// shorten makes the agent reconnect and learn shortWait.
func (k *leased) shorten() {
	k.t.Helper()
	k.mu.Lock()
	k.wait = shortWait
	k.mu.Unlock()
	k.disconnect()
	k.eventually("the agent learns the shorter wait", func() error {
		l, err := lease.Open(lease.File(k.data()))
		if err != nil {
			return err
		}
		defer l.Close() //nolint:errcheck // it was only read
		if got := l.Wait(); got != shortWait {
			return fmt.Errorf("it knows %s", got)
		}
		return nil
	})
}

// cutOff rejects the agent's connections until mend is called.
func (k *leased) cutOff() (mend func()) {
	set := func(refuse func(*agentv1.Hello) *agentv1.Refusal) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.refuse = refuse
	}
	set(func(*agentv1.Hello) *agentv1.Refusal { return &agentv1.Refusal{Reason: "cut off"} })
	k.disconnect()
	return func() { set(nil) }
}

// live checks for the duration d that both tasks are running.
func (k *leased) live(d time.Duration) {
	k.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		if err := wants(k.again, 1, k.only, 1); err != nil {
			k.t.Fatal(err)
		}
	}
}

// ends waits until the restartable task has ended, and checks that the other one is running.
func (k *leased) ends(began time.Time) {
	k.t.Helper()
	k.eventually("what is run again elsewhere is gone", func() error { return wants(k.again, 0, k.only, 1) })
	took := time.Since(began)
	k.t.Logf("gone after %s; the wait is %s", took, shortWait)
	if took > shortWait+overdueMost {
		k.t.Errorf("it was gone after %s, want %s at most", took, shortWait+overdueMost)
	}
}

// reports waits until this agent or a later one reports the exit.
func (k *leased) reports() {
	k.t.Helper()
	c := k.awaitEnd(k.ids[0])
	k.mu.Lock()
	defer k.mu.Unlock()
	if !c.exit.GetSilent() || c.exit.GetKind() != agentv1.Exit_KIND_LOST {
		k.t.Errorf("got %v, want the end for the master's silence", c.exit)
	}
	if c := k.containers[k.ids[1]]; c.exit != nil {
		k.t.Errorf("the task that is not run again ended with %v", c.exit)
	}
}

// nap returns a sleep time that no other process uses.
func nap(n int) string { return fmt.Sprintf("600.%06d%d", time.Now().UnixNano()%1_000_000, n) }

func wants(again string, copies int, only string, others int) error {
	if a, o := sleepers(again), sleepers(only); len(a) != copies || len(o) != others {
		return fmt.Errorf("of the one %v run, of the other %v", a, o)
	}
	return nil
}

func sleepers(nap string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && string(line) == "sleep\x00"+nap+"\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f))) // it is a number
			pids = append(pids, pid)
		}
	}
	return pids
}

// stop suspends the agent's process until goOn is called or the test ends.
func (v *victim) stop(t testing.TB) (goOn func()) {
	t.Helper()
	signal := func(sig syscall.Signal) {
		if err := v.cmd.Process.Signal(sig); err != nil {
			t.Errorf("signal the agent: %v", err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = v.cmd.Process.Signal(syscall.SIGCONT) }) // it may have exited
	return func() { signal(syscall.SIGCONT) }
}

// end interrupts the agent as its supervisor does.
func (v *victim) end() {
	v.t.Helper()
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		v.t.Errorf("end the agent: %v", err)
	}
	if err := v.cmd.Wait(); err != nil {
		v.t.Errorf("the agent ends with %v", err)
	}
}

// A suspended agent ends no tasks; when it resumes, it ends them before it reaches its master.
func stoppedAgent(t *testing.T, k *leased) {
	t.Helper()
	k.shorten()
	goOn := k.victim.stop(t)
	mend := k.cutOff()
	k.live(2 * shortWait)
	began := time.Now()
	goOn()
	k.ends(began)
	mend()
	k.reports()
}

// The agent started after a killed one ends them too.
func killedAgent(t *testing.T, k *leased) {
	t.Helper()
	k.shorten()
	mend := k.cutOff()
	k.victim.kill()
	k.live(2 * shortWait)
	began := time.Now()
	k.victim = startVictim(t, k.dir)
	k.ends(began)
	mend()
	k.reports()
}

func TestResumedAgentEndsReplacedContainers(t *testing.T) {
	t.Parallel()
	stoppedAgent(t, newLeased(t, ""))
}

func TestNextAgentEndsReplacedContainers(t *testing.T) {
	t.Parallel()
	killedAgent(t, newLeased(t, ""))
}

// The lease expired while no agent was running, and the next one reaches its master immediately.
func TestAnAnswerDoesNotReviveTheLeaseOfAnEarlierAgent(t *testing.T) {
	t.Parallel()
	k := newLeased(t, "")
	k.shorten()
	k.victim.kill()
	k.live(2 * shortWait)
	k.victim = startVictim(t, k.dir)
	k.ends(time.Now())
	k.reports()
}

// An agent that is killed and restarted while disconnected keeps its lease and does not extend it.
func TestLeaseEndsDespiteAgentRestart(t *testing.T) {
	t.Parallel()
	k := newLeased(t, "")
	k.shorten()
	began := time.Now()
	mend := k.cutOff()
	k.victim.kill()
	k.victim = startVictim(t, k.dir)
	k.ends(began)
	mend()
	k.reports()
}

func TestContainersOfStoppedOrKilledAgent(t *testing.T) {
	t.Parallel()
	d := dockertest.Start(t)
	inDocker := func(o *agentv1.Start) { o.Spec.Image, o.Spec.NetworkMode = dockertest.Image, "host" }
	t.Run("stopped", func(t *testing.T) { stoppedAgent(t, newLeased(t, d.Host, inDocker)) })
	t.Run("killed", func(t *testing.T) { killedAgent(t, newLeased(t, d.Host, inDocker)) })
}

// The task runs with the next agent for longer than the wait.
func TestTheNextAgentRenewsTheLease(t *testing.T) {
	t.Parallel()
	k := newLeased(t, "")
	k.victim.end()
	k.victim = startVictim(t, k.dir)
	k.live(leasedWait + shortWait)
}

// A full disk prevents neither the renewal of a lease nor its end.
func TestLeaseWorksOnFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o711); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", data, "tmpfs", 0, "size=8m,mode=0711"); err != nil {
		t.Skipf("mounts a small disk; run as root: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(data, unix.MNT_DETACH) })
	k := newLeasedIn(t, dir, "")
	ballast := filepath.Join(data, "ballast")
	err := os.WriteFile(ballast, make([]byte, 9<<20), 0o600)
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill the disk: got %v", err)
	}
	k.live(leasedWait + shortWait)
	k.shorten()
	began := time.Now()
	mend := k.cutOff()
	k.ends(began)
	if err := os.Remove(ballast); err != nil {
		t.Error(err)
	}
	mend()
	k.reports()
}
