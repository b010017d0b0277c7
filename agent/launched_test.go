package agent

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/agent/link"
	"github.com/det-deploy/det-deploy/cloud/machine"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// hostUnit answers an agent on its socket like det-deploy host run.
type hostUnit struct {
	mu       sync.Mutex
	instance string
	audience []string
	notices  []machine.Notice
}

func newHost(t *testing.T, instance string) (h *hostUnit, socket string) {
	t.Helper()
	h, socket = &hostUnit{instance: instance}, filepath.Join(t.TempDir(), "m.sock")
	l, err := new(net.ListenConfig).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(machine.ProofPath, func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.audience = append(h.audience, r.FormValue("audience"))
		_ = json.NewEncoder(w).Encode(machine.Proof{
			Kind: "test", Data: []byte(strconv.Itoa(len(h.audience))), Instance: h.instance,
		})
	})
	mux.HandleFunc(machine.NoticePath, func(w http.ResponseWriter, r *http.Request) {
		after, _ := strconv.Atoi(r.FormValue("after"))
		for end := time.Now().Add(time.Second); time.Now().Before(end) && r.Context().Err() == nil; <-time.After(5 * time.Millisecond) {
			h.mu.Lock()
			n := h.notices
			h.mu.Unlock()
			if len(n) > after {
				_ = json.NewEncoder(w).Encode(n[after])
				return
			}
		}
		w.WriteHeader(http.StatusNoContent)
	})
	srv := httptest.NewUnstartedServer(mux)
	_ = srv.Listener.Close()
	srv.Listener = l
	srv.Start()
	t.Cleanup(srv.Close) // waits for requests in progress
	return h, socket
}

func (h *hostUnit) announce(n machine.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n.N = int64(len(h.notices) + 1)
	h.notices = append(h.notices, n)
}

// launched returns the configuration of an agent on a machine that the peer launched.
func launched(t *testing.T, p *peer, socket string) Config {
	t.Helper()
	s := settings(t, p)
	s.AgentID, s.MachineSocket, s.ClusterID = "", socket, "cluster"
	file := filepath.Join(t.TempDir(), "agent.yaml")
	own := "master_host: " + s.MasterHost + "\nmaster_port: " + strconv.Itoa(s.MasterPort) + "\nmachine_socket: " + socket +
		"\ncluster_id: cluster\nartificial_slots: 2\ncontainer_runtime: process\ntrust_users: true\nagent_reconnect_backoff: 20ms\n"
	if err := os.WriteFile(file, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	return Config{
		Settings: s, Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Overlay: func(sent []byte) (config.Agent, error) {
			l, err := config.LoadUnder([]string{file}, sent, nil)
			return l.Agent, err
		},
	}
}

func TestALaunchedMachineProvesItselfIsPreparedAndThenWorks(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	_, socket := newHost(t, "i-1")
	c := launched(t, p, socket)
	logged := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(logged)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	c.Log = slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	trace := filepath.Join(t.TempDir(), "trace")
	p.config = []byte("http_proxy: http://proxy:1\nagent_id: somebody-else\n")
	p.prepare = &agentv1.Preparation{
		StartupScript:          []byte("echo startup >>" + trace),
		ContainerStartupScript: []byte("#!/bin/sh\necho container $HTTP_PROXY >>" + trace),
	}
	r := runConfig(t, c)
	p.start("c", `echo "$DET_AGENT_ID $HTTP_PROXY"`)
	if got := p.awaitEnd("c").texts(); len(got) != 1 || got[0] != "i-1 http://proxy:1" {
		t.Errorf("task: got %q, want it told the machine's id and the proxy", got)
	}
	p.mu.Lock()
	first, second := p.hellos[0], p.hellos[1]
	p.mu.Unlock()
	if !first.GetPreparing() || first.GetAgentId() != "i-1" || first.GetProofKind() != "test" || len(first.GetProof()) == 0 ||
		len(first.GetDevices()) != 0 {
		t.Errorf("first hello: got %v, want a proof and nothing else", first)
	}
	if second.GetPreparing() || second.GetCredential() != "paper" || len(second.GetProof()) != 0 || len(second.GetDevices()) != 2 {
		t.Errorf("second hello: got %v, want the credential and two devices", second)
	}
	r.halt()
	run := runConfig(t, c)
	p.await("it is back", func() bool { return len(p.hellos) == 3 && !p.hellos[2].GetPreparing() })
	run.halt()
	if got, err := os.ReadFile(trace); err != nil || string(got) != "startup\ncontainer http://proxy:1\n" {
		t.Errorf("scripts: got %q and %v, want each once and in order", got, err)
	}
	if text, err := os.ReadFile(logged); err != nil || strings.Contains(string(text), "echo") || !strings.Contains(string(text), "startup_script") {
		t.Errorf("log: got %s and %v, want the scripts named and their text left out", text, err)
	}
}

func TestFailedSetupIsReportedAndNotRetried(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	_, socket := newHost(t, "i-1")
	c := launched(t, p, socket)
	trace := filepath.Join(t.TempDir(), "trace")
	p.prepare = &agentv1.Preparation{StartupScript: []byte("echo once >>" + trace + "; echo no such disk; exit 3")}
	r := runConfig(t, c)
	told := func(n int) func() bool {
		return func() bool {
			return len(p.unprepared) == n && strings.HasSuffix(p.unprepared[n-1], "exit status 3; its last lines:\nno such disk")
		}
	}
	p.await("it reports why", told(1))
	p.disconnect()
	p.await("it reports so again", told(2))
	r.halt()
	runConfig(t, c)
	p.await("it reports so after a restart", told(3))
	if got, err := os.ReadFile(trace); err != nil || string(got) != "once\n" {
		t.Errorf("script: got %q and %v, want it run once", got, err)
	}
}

func TestAScriptOutlivesTheConnection(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	_, socket := newHost(t, "i-1")
	gate := filepath.Join(t.TempDir(), "gate")
	p.prepare = &agentv1.Preparation{StartupScript: []byte("while ! test -e " + gate + "; do sleep 0.05; done; test ! -e " + gate + ".x && touch " + gate + ".x")}
	runConfig(t, launched(t, p, socket))
	p.await("it prepares", func() bool { return len(p.hellos) == 1 })
	p.disconnect()
	p.await("it prepares still", func() bool { return len(p.hellos) == 2 && p.hellos[1].GetPreparing() })
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.await("it is ready", func() bool { return len(p.hellos) == 3 && !p.hellos[2].GetPreparing() })
}

func TestUnwantedMachinePowersOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refusal *agentv1.Refusal
		hook    bool
	}{
		"unwanted":              {&agentv1.Refusal{Reason: "no machine of ours", Final: true, Unwanted: true}, true},
		"refused, not unwanted": {&agentv1.Refusal{Reason: "another version", Final: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t)
			p.refuse = func(*agentv1.Hello) *agentv1.Refusal { return c.refusal }
			_, socket := newHost(t, "i-1")
			cfg := launched(t, p, socket)
			off := filepath.Join(t.TempDir(), "off")
			cfg.Settings.Hooks.OnJoinRefused = []string{"touch", off}
			err := runConfig(t, cfg).wait()
			var refused *link.RefusedError
			if !errors.As(err, &refused) || refused.Unwanted() != c.hook {
				t.Errorf("got %v, want the refusal", err)
			}
			if _, err := os.Stat(off); (err == nil) != c.hook {
				t.Errorf("hook: got %v, want it run: %v", err, c.hook)
			}
		})
	}
}

func TestDataDirectoryOfAnotherMachine(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	h, socket := newHost(t, "i-1")
	c := launched(t, p, socket)
	r := runConfig(t, c)
	p.await("it is ready", func() bool { return len(p.hellos) == 2 })
	r.halt()
	h.mu.Lock()
	h.instance = "i-2"
	h.mu.Unlock()
	runConfig(t, c)
	p.await("it joins anew", func() bool { return len(p.hellos) == 4 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := p.hellos[2]; got.GetAgentId() != "i-2" || got.GetCredential() != "" || !got.GetPreparing() {
		t.Errorf("got hello %v, want that of a new machine", got)
	}
}

func TestNoticesArePassedOnInEveryConnection(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	h, socket := newHost(t, "i-1")
	runConfig(t, launched(t, p, socket))
	p.await("it is ready", func() bool { return len(p.hellos) == 2 })
	at := time.Now().Add(time.Hour).Truncate(time.Second)
	h.announce(machine.Notice{Kind: machine.Rebalance, At: at})
	p.await("the first is told", func() bool { return len(p.notices) == 1 })
	h.announce(machine.Notice{Kind: machine.Interruption, At: at, Reason: "spot"})
	p.await("the second is told", func() bool { return len(p.notices) == 2 })
	p.disconnect()
	p.await("it is told again", func() bool { return len(p.notices) == 3 })
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.notices[2]
	if n.GetKind() != agentv1.Notice_KIND_INTERRUPTION || n.GetReason() != "spot" || !time.UnixMicro(n.GetAtUs()).Equal(at) {
		t.Errorf("got %v, want the interruption at %v", n, at)
	}
}

// A disconnected master cannot ask the tasks to stop.
func TestInterruptedMachinePreemptsItsTasks(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	h, socket := newHost(t, "i-1")
	runConfig(t, launched(t, p, socket))
	p.start("c", `trap 'echo saved; exit 0' TERM; echo on; while :; do sleep 0.05; done`)
	p.await("it runs", func() bool { return len(p.containers["c"].lines) == 1 })
	h.announce(machine.Notice{Kind: machine.Interruption, At: time.Now().Add(lastCall + 300*time.Millisecond)})
	if got := p.awaitEnd("c").texts(); !slices.Contains(got, "saved") {
		t.Errorf("got %q, want it to have saved itself", got)
	}
}
