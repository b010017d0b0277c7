package agent

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// An agent that cannot isolate tasks says so and does not start, unless it is told
// that whoever may submit tasks may have the machine.
func TestTasksThatAreNotIsolatedNeedTrust(t *testing.T) {
	t.Parallel()
	p := newPeer(t)
	s := settings(t, p)
	s.TaskUsers, s.TrustUsers = "", false
	err := Run(t.Context(), Config{Settings: s, Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	hint, ok := errors.AsType[*untrustedError](err)
	if !ok || !strings.Contains(hint.Hint(), "trust_users: true") {
		t.Fatalf("got %v, want a refusal that names trust_users", err)
	}
	s.TrustUsers = true
	run(t, s)
	p.start("c", "exit 4")
	if c := p.awaitEnd("c"); c.exit.GetCode() != 4 {
		t.Errorf("got %v", c.exit)
	}
}

// Where they are isolated, no trust is needed.
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
}
