package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// hands makes the master serve a program.
func (p *peer) hands(text string) (sum string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := sha256.Sum256([]byte(text))
	sum = hex.EncodeToString(h[:])
	p.program, p.version, p.programs = []byte(text), "next", map[string]string{"linux-" + runtime.GOARCH: sum}
	return sum
}

// following returns the configuration of an agent that may replace a file in place of its program.
func following(t *testing.T, p *peer) Config {
	t.Helper()
	_, socket := newHost(t, "i-1")
	c := launched(t, p, socket)
	c.Program = filepath.Join(t.TempDir(), "det-deploy")
	if err := os.WriteFile(c.Program, []byte("old"), 0o755); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAgentUpdateKeepsTasksRunning(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	c := following(t, p)
	r := runConfig(t, c)
	p.start("c", `trap 'exit 3' TERM; echo on; while :; do sleep 0.05; done`)
	p.await("it runs", func() bool { return len(p.containers["c"].lines) == 1 })
	p.hands("#!/bin/sh\ntest $1 = version\n")
	p.disconnect()
	err := r.wait()
	var s *SupersededError
	if !errors.As(err, &s) || s.Program != c.Program {
		t.Fatalf("got %v, want that the program was replaced", err)
	}
	if got, _ := os.ReadFile(c.Program); string(got) != "#!/bin/sh\ntest $1 = version\n" {
		t.Errorf("program: got %q, want the master's", got)
	}
	c.Version = "next"
	p.mu.Lock()
	before := len(p.hellos)
	p.mu.Unlock()
	runConfig(t, c)
	p.await("it is back with its task", func() bool { return len(p.hellos) > before && len(p.hellos[before].GetContainers()) == 1 })
	p.signal("c", agentv1.Signal_KIND_TERMINATE, time.Minute)
	if got := p.awaitEnd("c").exit; got.GetCode() != 3 {
		t.Errorf("task: got %v, want it to have gone on to its own end", got)
	}
}

func TestProgramIsVerifiedBeforeUse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(p *peer)
		want    string
	}{
		"another hash": {func(p *peer) { p.hands("#!/bin/sh\n"); p.program = []byte("#!/bin/sh\nevil\n") }, "checksum mismatch"},
		"does not run": {func(p *peer) { p.hands("#!/bin/sh\necho cannot; exit 1\n") }, "run the master's program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t)
			cfg := following(t, p)
			c.prepare(p)
			runConfig(t, cfg)
			p.await("it goes on with its own", func() bool { return len(p.hellos) == 2 && !p.hellos[1].GetPreparing() })
			if got, _ := os.ReadFile(cfg.Program); string(got) != "old" {
				t.Errorf("program: got %q, want it as it was", got)
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(cfg.Program), ".det-deploy-*"))
			if err != nil || len(left) != 0 {
				t.Errorf("directory: got %v and %v, want nothing left", left, err)
			}
		})
	}
}

func TestAgentBetweenTwoMastersStopsUpdating(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	for i := range followMost {
		if err := mayFollow(dir, now.Add(time.Duration(i)*time.Minute)); err != nil {
			t.Fatalf("change %d: got %v, want it allowed", i, err)
		}
	}
	if err := mayFollow(dir, now.Add(10*time.Minute)); err == nil || !strings.Contains(err.Error(), "take turns") {
		t.Errorf("one too many: got %v, want it refused", err)
	}
	if err := mayFollow(dir, now.Add(followWindow+time.Second)); err != nil {
		t.Errorf("an hour later: got %v, want it allowed", err)
	}
}

func TestFollowDecision(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	static := Config{Settings: settings(t, p), Program: "x", Version: "test"}
	if static.followsMaster() {
		t.Error("a static agent: got that it follows, want it left to its owner")
	}
	static.Settings.AutoUpdate = true
	if !static.followsMaster() {
		t.Error("with auto_update: got that it does not follow")
	}
	w := &agentv1.Welcome{Version: "test", Programs: map[string]string{"linux-" + runtime.GOARCH: "other"}}
	if err := followMaster(t.Context(), static, nil, w); err != nil {
		t.Errorf("the same version: got %v, want nothing done", err)
	}
}
