package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/test/rest"
)

// victimDir names the environment variable that runs this test program as an agent with the
// settings in the named directory.
const victimDir = "DET_DEPLOY_TEST_AGENT"

type victimSettings struct {
	Host string
	Port int
	Dir  string
	// Docker is the address of the engine; if empty, tasks are plain processes.
	Docker string
	// Plain disables isolation.
	Plain bool
}

func beVictim(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // the main of another program
	defer stop()
	data, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	if err != nil {
		return 1
	}
	var v victimSettings
	if err := json.Unmarshal(data, &v); err != nil {
		return 1
	}
	s := config.DefaultAgent()
	s.MasterHost, s.MasterPort, s.DataDir, s.AgentID = v.Host, v.Port, v.Dir, "victim"
	s.ArtificialSlots, s.ContainerRuntime, s.TrustUsers = 1, config.RuntimeProcess, true
	s.AgentReconnectBackoff = document.Seconds(10 * time.Millisecond)
	if v.Plain {
		s.TaskUsers = ""
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if v.Docker != "" {
		s.ContainerRuntime = config.RuntimeDocker
	}
	if err := Run(ctx, Config{Settings: s, Version: "victim", Log: log, DockerHost: v.Docker}); err != nil {
		log.Error("agent ended", "err", err)
		return 1
	}
	return 0
}

// An agent is killed at random moments while its tasks start, write and exit. Each task must exit
// once with its own code, and each line must arrive once, in order.
func TestKillNineLosesNothing(t *testing.T) {
	t.Parallel()
	for name, plain := range map[string]bool{"isolated": false, "plain": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasks, kills := 20, 6
			if !testing.Short() {
				tasks, kills = rest.Choose(40, 100), rest.Choose(10, 25)
			}
			s := newStorm(t, plain)
			for i := range tasks {
				s.startTask(i)
				if i%max(1, tasks/kills) == 0 {
					pauseTest(t, time.Duration(s.random.IntN(150))*time.Millisecond)
					s.victim.kill()
					s.victim = startVictim(t, s.dir)
				}
			}
			for i := range tasks {
				s.checkEnd(i)
			}
			s.finish()
		})
	}
}

// storm is an agent in a separate process that is killed while it has tasks.
type storm struct {
	t      *testing.T
	p      *peer
	dir    string
	victim *victim
	random *rand.Rand
}

func newStorm(t *testing.T, plain bool) *storm {
	t.Helper()
	s := &storm{t: t, p: newPeer(t), dir: t.TempDir(), random: rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))}
	v := victimSettings{Dir: s.data(), Plain: plain}
	v.Host, v.Port = s.p.address()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "settings.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	s.victim = startVictim(t, s.dir)
	return s
}

func (s *storm) data() string { return filepath.Join(s.dir, "data") }

// startTask starts a task whose lines and exit code identify it. Each run appends a line to a file.
func (s *storm) startTask(i int) {
	id := fmt.Sprintf("t%d", i)
	s.p.start(id, fmt.Sprintf(
		`{ echo run >>%s; } 2>/dev/null; i=0; while [ $i -lt %d ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); [ $((i %% 10)) = 0 ] && sleep 0.0%d; done; exit %d`,
		s.runs(i), s.random.IntN(200), s.random.IntN(10), i%200))
}

func (s *storm) runs(i int) string { return filepath.Join(s.dir, fmt.Sprintf("runs-%d", i)) }

// checkEnd waits for a task to exit and checks its exit code and lines.
func (s *storm) checkEnd(i int) {
	s.t.Helper()
	id := fmt.Sprintf("t%d", i)
	c := s.p.awaitEnd(id)
	if c.exit.GetKind() != agentv1.Exit_KIND_EXITED || int(c.exit.GetCode()) != i%200 {
		s.t.Errorf("%s: got %v, want code %d", id, c.exit, i%200)
	}
	if runs, _ := os.ReadFile(s.runs(i)); len(runs) > len("run\n") {
		s.t.Errorf("%s: it ran %d times", id, len(runs)/len("run\n"))
	}
	next := map[string]int{}
	for _, l := range c.lines {
		want := fmt.Sprintf("%s %d", l.GetStdtype()[3:], next[l.GetStdtype()])
		if got := string(l.GetText()); got != want {
			s.t.Errorf("%s: got line %q, want %q", id, got, want)
			break
		}
		next[l.GetStdtype()]++
	}
	if next["stdout"] != next["stderr"] {
		s.t.Errorf("%s: got %d lines on stdout and %d on stderr", id, next["stdout"], next["stderr"])
	}
}

func (s *storm) finish() {
	s.t.Helper()
	awaitEmpty(s.t, s.data())
	s.victim.kill()
}

func pauseTest(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

type victim struct {
	t   testing.TB
	cmd *exec.Cmd
}

func startVictim(t testing.TB, dir string) *victim {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), victimDir+"="+dir)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v := &victim{t: t, cmd: cmd}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			v.kill()
		}
	})
	return v
}

func (v *victim) kill() {
	v.t.Helper()
	if err := v.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		v.t.Errorf("kill the agent: %v", err)
	}
	_ = v.cmd.Wait()
}
