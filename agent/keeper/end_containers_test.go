package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/disk"
	"github.com/det-deploy/det-deploy/agent/lease"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// engine is one that hangs when it is asked for some containers.
type engine struct {
	hangs map[string]bool
	// asked is called for each container that is looked at.
	asked func()

	mu     sync.Mutex // guards killed
	killed []string
}

func (e *engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(filepath.Base(filepath.Dir(r.URL.Path)), "det-deploy-")
	switch filepath.Base(r.URL.Path) {
	case "_ping":
		w.Header().Set("Api-Version", "1.47")
	case "json":
		e.asked()
		if e.hangs[id] {
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"State": {"Status": "running", "Running": true}}`)
	case "kill":
		e.mu.Lock()
		defer e.mu.Unlock()
		e.killed = append(e.killed, id)
		w.WriteHeader(http.StatusNoContent)
	default: // among others what it tells about itself
		<-r.Context().Done()
	}
}

// dead has the containers that were killed, by name.
func (e *engine) dead() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(slices.Values(e.killed))
}

func (e *engine) serve(t *testing.T) (host string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine") //nolint:usetesting // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	var c net.ListenConfig
	l, err := c.Listen(t.Context(), "unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		_ = os.RemoveAll(dir)
	})
	return "unix://" + l.Addr().String()
}

// overdue is a keeper of containers on an engine whose lease is over.
func overdue(t *testing.T, e *engine, ids ...string) (*keeper, *lease.Lease) {
	t.Helper()
	dir := t.TempDir()
	d, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, _, err := d.Add(&agentv1.Start{ContainerId: id, Rerun: true}); err != nil {
			t.Fatal(err)
		}
	}
	l, err := lease.Open(lease.File(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	l.Learn(time.Nanosecond)
	l.Answered(1)
	r, err := lease.NewReader(l.Shared(), dir)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	cfg := Config{DataDir: dir, Docker: true, DockerHost: e.serve(t), Log: log}
	return &keeper{cfg: cfg, lease: r, says: says{log: log}, patience: 5 * time.Second}, l
}

func TestAContainerOfWhichAnEngineSaysNothingIsEndedAndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	e := &engine{hangs: map[string]bool{"a": true}, asked: func() {}}
	k, _ := overdue(t, e, "a", "b")
	s := k.takeStep(t.Context())
	if got := e.dead(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v killed, want both", got)
	}
	if s.leave || s.at <= lease.Now() {
		t.Errorf("got %+v, want another look later", s)
	}
}

// The agent connects again while its keeper looks.
func TestALeaseThatIsRenewedMeanwhileEndsNothing(t *testing.T) {
	t.Parallel()
	e := &engine{}
	k, l := overdue(t, e, "a")
	e.asked = func() {
		l.Answered(lease.Now())
		l.Learn(time.Hour)
	}
	s := k.takeStep(t.Context())
	if got := e.dead(); s.leave || len(got) > 0 {
		t.Errorf("got %+v, %v killed, want a keeper that waits", s, got)
	}
	entries, err := disk.Reruns(k.cfg.DataDir)
	if err != nil || len(entries) != 1 || entries[0].Silenced() {
		t.Errorf("got %v, %v, want one that its agent runs", entries, err)
	}
}

func TestAKeeperStaysForAnOrderThatItCannotRead(t *testing.T) {
	t.Parallel()
	k, _ := overdue(t, &engine{})
	orders := filepath.Join(k.cfg.DataDir, "orders")
	if err := errors.Join(os.Remove(orders), os.Mkdir(orders, 0o700)); err != nil { // reading it fails, as on a failing disk
		t.Fatal(err)
	}
	if s := k.takeStep(t.Context()); s.leave {
		t.Errorf("got %+v, want it to try again", s)
	}
}
