package process

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// The first process of a container is runc, with the variables of runc, until it writes the first line.
func TestTasksAreEnteredWhenTheirFirstProcessHasTheirVariables(t *testing.T) {
	t.Parallel()
	r := newRuntime(t)
	spec := script("early", "sleep 600")
	spec.Env = []string{"MINE=yes"}
	if err := start(t, r, spec); err != nil {
		t.Fatal(err)
	}
	d := r.containerDir("early")
	if _, err := d.awaitWrapper(t.Context()); err != nil {
		t.Fatal(err)
	}
	line, err := d.readFile("status")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.filePath("status"), 0); err != nil {
		t.Fatal(err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Exec(brief, "early", stream.Program{Argv: []string{"env"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want to wait for the first line", err)
	}
	if err := os.WriteFile(d.filePath("status"), line, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, code := entered(t, r, "early", "echo $MINE", nil); code != 0 || said != "yes\n" {
		t.Errorf("got code %d and %q", code, said)
	}
}
