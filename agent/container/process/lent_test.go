package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
)

func TestNothingIsLentWhereTheUserCannotGo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	d := dir(filepath.Join(closed, "processes", "a"))
	if err := os.MkdirAll(string(d), 0o711); err != nil {
		t.Fatal(err)
	}
	err := d.lend(filepath.Join(closed, "lent"), &container.User{UID: 4711, GID: 4711})
	if err == nil || !strings.Contains(err.Error(), "can reach neither") {
		t.Errorf("got %v, want that the user can reach neither", err)
	}
}
