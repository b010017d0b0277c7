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
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// victimDir makes this test program an agent, with the settings that are in
// the directory.
const victimDir = "DET_DEPLOY_TEST_AGENT"

type victimSettings struct {
	Host string
	Port int
	Dir  string
	// Docker is the address of an engine for its tasks; without one they are processes.
	Docker string
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
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if v.Docker != "" {
		s.ContainerRuntime = config.RuntimeDocker
	}
	if err := Run(ctx, Config{Settings: s, Version: "victim", Log: log, DockerHost: v.Docker, Keeper: []string{keeperCommand}}); err != nil {
		log.Error("agent ended", "err", err)
		return 1
	}
	return 0
}

// An agent is killed at random moments while its tasks start, talk and end.
// Each task ends once with its own code, and each line comes once, in order.
func TestKillNineLosesNothing(t *testing.T) {
	t.Parallel()
	tasks, kills := 30, 8
	if !testing.Short() {
		tasks, kills = 150, 40
	}
	p := newPeer(t)
	dir := t.TempDir()
	v := victimSettings{Dir: filepath.Join(dir, "data")}
	v.Host, v.Port = p.address()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "settings.json"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	victim := startVictim(t, dir)
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for i := range tasks {
		id := fmt.Sprintf("t%d", i)
		p.start(id, fmt.Sprintf(
			`i=0; while [ $i -lt %d ]; do echo "out $i"; echo "err $i" >&2; i=$((i+1)); [ $((i %% 10)) = 0 ] && sleep 0.0%d; done; exit %d`,
			random.IntN(200), random.IntN(10), i%200))
		if i%max(1, tasks/kills) == 0 {
			pauseTest(t, time.Duration(random.IntN(150))*time.Millisecond)
			victim.kill()
			victim = startVictim(t, dir)
		}
	}
	for i := range tasks {
		id := fmt.Sprintf("t%d", i)
		c := p.awaitEnd(id)
		if c.exit.GetKind() != agentv1.Exit_KIND_EXITED || int(c.exit.GetCode()) != i%200 {
			t.Errorf("%s: got %v, want code %d", id, c.exit, i%200)
		}
		next := map[string]int{}
		for _, l := range c.lines {
			want := fmt.Sprintf("%s %d", l.GetStdtype()[3:], next[l.GetStdtype()])
			if got := string(l.GetText()); got != want {
				t.Errorf("%s: got line %q, want %q", id, got, want)
				break
			}
			next[l.GetStdtype()]++
		}
		if next["stdout"] != next["stderr"] {
			t.Errorf("%s: got %d lines on stdout and %d on stderr", id, next["stdout"], next["stderr"])
		}
	}
	awaitEmpty(t, v.Dir)
	victim.kill()
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
