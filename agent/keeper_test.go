package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/keeper"
	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/dockertest"
)

// keeperCommand makes this test program the keeper of an agent.
const keeperCommand = "keep"

func beKeeper(args []string) int {
	f := flag.NewFlagSet(keeperCommand, flag.ContinueOnError)
	dir, docker, host := f.String("data-dir", "", ""), f.Bool("docker", false, ""), f.String("docker-host", "", "")
	if err := f.Parse(args); err != nil {
		return 2
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := keeper.Run(context.Background(), keeper.Config{ //nolint:forbidigo // the main of another program
		DataDir: *dir, Docker: *docker, DockerHost: *host, Lease: os.NewFile(keeper.LeaseFD, "lease"), Log: log,
	}); err != nil {
		log.Error("keeper ended", "err", err)
		return 1
	}
	return 0
}

const (
	// keptWait is the reconnect wait of the agents below while their tasks have to live,
	// also on a busy machine, and deadWait once these may end.
	keptWait = 20 * time.Second
	deadWait = 4 * time.Second
	// keptMost is how long after the end of the wait a program may be seen on a busy
	// machine; the master allows five seconds.
	keptMost = 30 * time.Second
)

// kept is an agent in a process of its own, with a task that may be run again elsewhere
// and one that may not.
type kept struct {
	*peer
	t      testing.TB
	dir    string
	victim *victim
	// again and only are how long the two tasks sleep, by which they are known.
	again, only string
	// ids are the containers', by the same order: an engine has one of each name.
	ids [2]string
}

func newKept(t *testing.T, docker string, change ...func(*agentv1.Start)) *kept {
	t.Helper()
	return newKeptIn(t, t.TempDir(), docker, change...)
}

func newKeptIn(t *testing.T, dir, docker string, change ...func(*agentv1.Start)) *kept {
	t.Helper()
	k := &kept{t: t, peer: newPeer(t), dir: dir, again: nap(1), only: nap(2)}
	k.wait = keptWait
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
		if err := keeper.End(context.WithoutCancel(t.Context()), k.data()); err != nil {
			t.Error(err)
		}
	})
	k.victim = startVictim(t, k.dir)
	k.start(k.ids[1], "exec sleep "+k.only, change...)
	k.awaitState(k.ids[1], apiv1.Container_STATE_RUNNING)
	if pid := keeper.Holder(k.data()); pid != 0 {
		t.Errorf("got the keeper %d with nothing to keep", pid)
	}
	k.start(k.ids[0], "exec sleep "+k.again, append(change, func(o *agentv1.Start) { o.Rerun = true })...)
	k.awaitState(k.ids[0], apiv1.Container_STATE_RUNNING)
	k.eventually("both tasks run", func() error {
		return wants(k.again, 1, k.only, 1)
	})
	k.keeper()
	return k
}

func (k *kept) data() string { return filepath.Join(k.dir, "data") }

// keeper waits for one that is not the one before, and returns its process id.
func (k *kept) keeper(before ...int) (pid int) {
	k.t.Helper()
	k.eventually("there is a keeper", func() error {
		if pid = keeper.Holder(k.data()); pid == 0 || len(before) > 0 && pid == before[0] {
			return fmt.Errorf("its id is %d", pid)
		}
		return nil
	})
	return pid
}

func (k *kept) eventually(what string, is func() error) {
	k.t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(20 * time.Millisecond) {
		if err = is(); err == nil {
			return
		}
	}
	log, _ := os.ReadFile(filepath.Join(k.data(), "keeper.log"))
	k.t.Fatalf("in a minute it never came about that %s: %v; the keeper says:\n%s", what, err, log)
}

// ends waits until what may be run again is gone, and nothing else.
func (k *kept) ends(began time.Time) {
	k.t.Helper()
	k.eventually("what is run again elsewhere is gone", func() error { return wants(k.again, 0, k.only, 1) })
	took := time.Since(began)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.t.Logf("gone %s after its agent; the wait is %s", took, k.wait)
	if took > k.wait+keptMost {
		k.t.Errorf("it was gone after %s, want %s at most", took, k.wait+keptMost)
	}
}

// shorten has the agent come again and learn a wait after which its task may end soon.
func (k *kept) shorten() {
	k.t.Helper()
	k.mu.Lock()
	k.wait, k.hellos = deadWait, nil
	k.mu.Unlock()
	k.disconnect()
	f, err := os.Open(lease.File(k.data()))
	if err != nil {
		k.t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	k.eventually("the agent learns the shorter wait", func() error {
		r, err := lease.NewReader(f, k.data())
		if err != nil {
			return err
		}
		if term, err := r.Term(); err != nil || term.Length != deadWait {
			return fmt.Errorf("it knows %+v (%v)", term, err) //nolint:errorlint // it may be nil
		}
		return nil
	})
}

// live watches both tasks for longer than the wait.
func (k *kept) live() {
	k.t.Helper()
	for end := time.Now().Add(keptWait + deadWait); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		if err := wants(k.again, 1, k.only, 1); err != nil {
			k.t.Fatal(err)
		}
	}
}

// reports waits for what a later agent, or this one, says of the end.
func (k *kept) reports() {
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

// nap is how long nobody else sleeps.
func nap(n int) string { return fmt.Sprintf("600.%06d%d", time.Now().UnixNano()%1_000_000, n) }

func wants(again string, copies int, only string, others int) error {
	if a, o := sleepers(again), sleepers(only); len(a) != copies || len(o) != others {
		return fmt.Errorf("of the one %v run, of the other %v", a, o)
	}
	return nil
}

func sleepers(nap string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && string(line) == "sleep\x00"+nap+"\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f))) // it is a number
			pids = append(pids, pid)
		}
	}
	return pids
}

// stop stops the agent's process until the test goes on, or ends.
func (v *victim) stop(t testing.TB) (goOn func()) {
	t.Helper()
	signal := func(sig syscall.Signal) {
		if err := v.cmd.Process.Signal(sig); err != nil {
			t.Errorf("signal the agent: %v", err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = v.cmd.Process.Signal(syscall.SIGCONT) }) // it may have ended
	return func() { signal(syscall.SIGCONT) }
}

func (v *victim) stopped() error {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(v.cmd.Process.Pid) + "/stat")
	if err == nil && !strings.Contains(string(stat), ") T ") {
		err = fmt.Errorf("it is not stopped: %s", stat)
	}
	return err
}

func stoppedAgent(t *testing.T, k *kept) {
	t.Helper()
	k.shorten()
	began := time.Now()
	goOn := k.victim.stop(t)
	k.ends(began)
	if err := k.victim.stopped(); err != nil {
		t.Error(err)
	}
	goOn()
	k.reports()
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.hellos) != 1 {
		t.Errorf("the agent came %d times; its connection was never broken", len(k.hellos))
	}
}

func killedAgent(t *testing.T, k *kept) {
	t.Helper()
	k.shorten()
	began := time.Now()
	k.victim.kill()
	k.ends(began)
	k.eventually("the keeper leaves, which has nothing to keep", func() error {
		if pid := keeper.Holder(k.data()); pid != 0 {
			return fmt.Errorf("its id is %d", pid)
		}
		return nil
	})
	k.victim = startVictim(t, k.dir)
	k.reports()
}

func TestAStoppedAgentRunsNothingThatIsRunElsewhere(t *testing.T) {
	t.Parallel()
	stoppedAgent(t, newKept(t, ""))
}

func TestAKilledAgentRunsNothingThatIsRunElsewhere(t *testing.T) {
	t.Parallel()
	killedAgent(t, newKept(t, ""))
}

func TestContainersOfAnAgentThatIsStoppedOrKilled(t *testing.T) {
	t.Parallel()
	d := dockertest.Start(t)
	inDocker := func(o *agentv1.Start) { o.Spec.Image, o.Spec.NetworkMode = dockertest.Image, "host" }
	t.Run("stopped", func(t *testing.T) { stoppedAgent(t, newKept(t, d.Host, inDocker)) })
	t.Run("killed", func(t *testing.T) { killedAgent(t, newKept(t, d.Host, inDocker)) })
}

func TestAKeeperThatIsKilledIsStartedAgain(t *testing.T) {
	t.Parallel()
	k := newKept(t, "")
	first := k.keeper()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.keeper(first)
	stoppedAgent(t, k)
}

// The next agent's keeper takes the place of the one before; the task goes on for
// longer than the wait, and ends when that agent is stopped.
func TestTheNextAgentHasAKeeperOfItsOwn(t *testing.T) {
	t.Parallel()
	k := newKept(t, "")
	first := k.keeper()
	k.victim.end()
	k.victim = startVictim(t, k.dir)
	k.keeper(first)
	k.live()
	stoppedAgent(t, k)
}

// end ends the agent as its supervisor does.
func (v *victim) end() {
	v.t.Helper()
	if err := v.cmd.Process.Signal(os.Interrupt); err != nil {
		v.t.Errorf("end the agent: %v", err)
	}
	if err := v.cmd.Wait(); err != nil {
		v.t.Errorf("the agent ends with %v", err)
	}
}

func TestASweepEndsTheKeeper(t *testing.T) {
	t.Parallel()
	k := newKept(t, "")
	k.victim.kill()
	s := settings(t, k.peer)
	s.DataDir = k.data()
	if err := Sweep(t.Context(), Config{Settings: s, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	if pid := keeper.Holder(k.data()); pid != 0 {
		t.Errorf("got the keeper %d", pid)
	}
	if err := wants(k.again, 0, k.only, 0); err != nil {
		t.Error(err)
	}
}

// A keeper has the program of its agent, also when that was removed.
func TestAKeeperHasTheProgramOfItsAgent(t *testing.T) {
	t.Parallel()
	k := newKept(t, "")
	of := func(pid int) string {
		exe, err := os.Stat("/proc/" + strconv.Itoa(pid) + "/exe")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(exe.Sys().(*syscall.Stat_t).Ino)
	}
	if got, want := of(k.keeper()), of(k.victim.cmd.Process.Pid); got != want {
		t.Errorf("got inode %s, want %s", got, want)
	}
	environ, err := exec.CommandContext(t.Context(), "cat", "/proc/"+strconv.Itoa(k.keeper())+"/environ").Output()
	if err != nil || strings.Contains(string(environ), victimDir) {
		t.Errorf("got %q, %v, want nothing of its agent's", environ, err)
	}
}

// A full disk stops neither the lease of an agent that goes on, nor what its keeper does.
func TestAKeeperNeedsNoRoomOnTheDisk(t *testing.T) {
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
	k := newKeptIn(t, dir, "")
	ballast := filepath.Join(data, "ballast")
	err := os.WriteFile(ballast, make([]byte, 9<<20), 0o600)
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill the disk: got %v", err)
	}
	k.live()
	began := time.Now()
	goOn := k.victim.stop(t)
	k.ends(began)
	if err := os.Remove(ballast); err != nil {
		t.Error(err)
	}
	goOn()
	k.reports()
}
