package docker

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// endsWhatEntered shows that a new agent ends the silent programs of one that was killed, and no others.
func endsWhatEntered(t *testing.T, again func() *Runtime) {
	r := again()
	spec := script("silent", "sleep 600")
	if err := r.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Remove(context.WithoutCancel(t.Context()), spec.ID) })
	p, err := r.Exec(t.Context(), spec.ID, stream.Program{Argv: []string{"sh", "-c", "sleep 600 & echo ready; wait"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(p.Stdout(), make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	other, err := r.api.ExecCreate(t.Context(), containerName(spec.ID), client.ExecCreateOptions{Cmd: []string{"sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.api.ExecStart(t.Context(), other.ID, client.ExecStartOptions{Detach: true}); err != nil {
		t.Fatal(err)
	}
	entered(r.opts.Entered).note("0123456789abcdef") // it ended long ago
	next := again()
	if code, err := p.Wait(); err != nil || code != killed {
		t.Errorf("got code %d, %v, want it killed", code, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if state, err := next.api.ExecInspect(t.Context(), other.ID, client.ExecInspectOptions{}); err != nil || !state.Running {
		t.Errorf("got %+v, %v, want the program of somebody else running", state, err)
	}
	if left, err := os.ReadDir(r.opts.Entered); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v, want no file", left, err)
	}
}
