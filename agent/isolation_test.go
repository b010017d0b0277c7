package agent

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/config"
)

// limited is a runtime that lacks isolation or fixed paths.
type limited struct{ isolation, paths error }

func (l limited) Isolation() error  { return l.isolation }
func (l limited) FixedPaths() error { return l.paths }

type noRuncError struct{}

func (noRuncError) Error() string { return "runc is not installed on this machine" }

func (noRuncError) Hint() string {
	return "install runc, for example with `apt-get install runc`, and restart the agent"
}

func TestAgentReportsMissingIsolation(t *testing.T) {
	t.Parallel()
	const noRunc = "runc is not installed on this machine; install runc, for example with `apt-get install runc`, and restart the agent"
	notRoot := errors.New("the agent is not root")
	for name, tc := range map[string]struct {
		of                        limited
		trusts                    bool
		notIsolated, noFixedPaths string
		warned                    []string
	}{
		"isolated":              {},
		"without runc":          {of: limited{noRuncError{}, noRuncError{}}, notIsolated: noRunc, noFixedPaths: noRunc, warned: []string{"apt-get install runc", "trust_users: true"}},
		"all users are trusted": {of: limited{noRuncError{}, noRuncError{}}, trusts: true, notIsolated: noRunc, noFixedPaths: noRunc, warned: []string{"users who may submit", "apt-get install runc"}},
		"not root": {
			of: limited{isolation: notRoot}, notIsolated: "the agent is not root; run the agent as root, or start Docker",
			warned: []string{"only tasks of administrators run here", "run the agent as root", "trust_users: true"},
		},
		"an error of several lines": {of: limited{paths: errors.Join(notRoot, notRoot)}, noFixedPaths: "the agent is not root; the agent is not root; run the agent as root, or start Docker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			cfg := Config{Settings: config.Agent{TrustUsers: tc.trusts}, Log: slog.New(slog.NewTextHandler(&log, nil))}
			notIsolated, noFixedPaths := describeLimits(cfg, tc.of)
			if notIsolated != tc.notIsolated || noFixedPaths != tc.noFixedPaths {
				t.Errorf("got %q and %q, want %q and %q", notIsolated, noFixedPaths, tc.notIsolated, tc.noFixedPaths)
			}
			for _, want := range tc.warned {
				if !strings.Contains(log.String(), want) {
					t.Errorf("got log\n%swant %q", log.String(), want)
				}
			}
			warnings := 1
			if tc.of == (limited{}) {
				warnings = 0
			}
			if got := strings.Count(log.String(), "level=WARN"); got != warnings {
				t.Errorf("got %d warnings, want %d:\n%s", got, warnings, log.String())
			}
		})
	}
}

// An agent that cannot isolate tasks starts and reports the reason to its master, unless it is
// configured to trust all users who may submit tasks.
func TestTasksThatAreNotIsolatedNeedTrust(t *testing.T) {
	t.Parallel()
	for _, trusts := range []bool{false, true} {
		p := newPeer(t)
		s := settings(t, p)
		s.TaskUsers, s.TrustUsers = "", trusts
		run(t, s)
		p.start("c", "exit 4") // an administrator's task: the master knows the owner
		if c := p.awaitEnd("c"); c.exit.GetCode() != 4 {
			t.Errorf("got %v", c.exit)
		}
		p.mu.Lock()
		if h := p.hellos[0]; h.GetNotIsolated() == "" || h.GetTrustsUsers() != trusts {
			t.Errorf("with trust_users %t: the master learns %q and %t", trusts, h.GetNotIsolated(), h.GetTrustsUsers())
		}
		p.mu.Unlock()
	}
}

// With isolation, no trust is needed.
func TestIsolatedTasksNeedNoTrust(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can isolate tasks")
	}
	p := newPeer(t)
	s := settings(t, p)
	s.TrustUsers = false
	run(t, s)
	p.start("c", "test $(id -u) -ge 70000 && exit 4")
	if c := p.awaitEnd("c"); c.exit.GetCode() != 4 {
		t.Errorf("got %v", c.exit)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := p.hellos[0].GetNotIsolated(); got != "" {
		t.Errorf("the master learns %q, want nothing", got)
	}
}
