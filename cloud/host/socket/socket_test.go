package socket_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/socket"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// one returns a single notice.
type one struct{ machine.Notice }

func (o one) Next(ctx context.Context, after int64) (machine.Notice, bool) {
	if after < o.N {
		return o.Notice, true
	}
	<-ctx.Done()
	return machine.Notice{}, false
}

func serve(t *testing.T, s *socket.Server) (path string, stop func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run", "m.sock")
	// A socket left behind by an earlier process does not prevent a start.
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := socket.Listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	return path, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestServerAnswersAgent(t *testing.T) {
	t.Parallel()
	n := machine.Notice{N: 5, Kind: machine.Interruption, At: time.Unix(1, 0).UTC(), Reason: "terminate"}
	path, stop := serve(t, &socket.Server{
		Prove: func(_ context.Context, cluster string) (machine.Proof, error) {
			if cluster == "none" {
				return machine.Proof{}, errors.New("this machine has no role")
			}
			return machine.Proof{Kind: "k", Data: []byte(cluster), Instance: "i-1"}, nil
		},
		Notices: one{n}, Log: slog.New(slog.DiscardHandler),
	})
	c := machine.New(path)
	p, err := c.Proof(t.Context(), "lab")
	if d := cmp.Diff(p, machine.Proof{Kind: "k", Data: []byte("lab"), Instance: "i-1"}); err != nil || d != "" {
		t.Errorf("got %v, -; want +:\n%s", err, d)
	}
	if _, err := c.Proof(t.Context(), "none"); err == nil || !strings.Contains(err.Error(), "this machine has no role") {
		t.Errorf("got %v, want why there is no proof", err)
	}
	if _, err := c.Proof(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "audience: must be set") {
		t.Errorf("got %v, want an error", err)
	}
	got, found, err := c.Notice(t.Context(), 0)
	if d := cmp.Diff(got, n); err != nil || !found || d != "" {
		t.Errorf("got %v, %v, -; want +:\n%s", found, err, d)
	}
	waits := make(chan bool, 1)
	go func() {
		_, found, _ := c.Notice(t.Context(), 5)
		waits <- found
	}()
	stop() // also while a request is pending
	if <-waits {
		t.Error("got a notice, want none")
	}
}

func TestSocketIsAccessibleToRootOnly(t *testing.T) {
	t.Parallel()
	path, stop := serve(t, &socket.Server{Log: slog.New(slog.DiscardHandler), Notices: one{}})
	defer stop()
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(p)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v; want %o", p, info, err, want)
		}
	}
}
