package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
)

// The runs of a trial have different users: the next run continues from a checkpoint of the
// previous one, and a third task deletes it.
func TestTasksOfExperimentsShareWhatTheyWrite(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	private := filepath.Join(t.TempDir(), "private")
	shared := filepath.Join(private, "checkpoints")
	if err := os.MkdirAll(shared, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil { //nolint:gosec // below a directory that others do not pass
		t.Fatal(err)
	}
	for i, step := range []string{
		"mkdir -p /shared/a/b && echo one >/shared/a/b/c",
		"echo two >>/shared/a/b/c && echo three >/shared/a/b/d",
		"rm -r /shared/a",
	} {
		spec := script(string(rune('a'+i)), step)
		spec.FixedPaths = true
		spec.Mounts = []container.Mount{{HostPath: shared, ContainerPath: "/shared"}}
		if said, code := outcome(t, r, spec); code != 0 {
			t.Fatalf("%s: code %d and %q", step, code, said)
		}
	}
	plain := script("plain", "umask")
	if said, _ := outcome(t, r, plain); said == "0000\n" {
		t.Error("what a command writes is open to others")
	}
}
