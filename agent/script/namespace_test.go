package script_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/script"
)

// inDirectory makes this test program run a script in a directory instead of tests.
const inDirectory = "TEST_RUN_SCRIPT_IN"

// An agent's systemd unit has its own mount namespace. Mounts of a script must be visible to the
// containers of the machine too.
func TestAScriptMountsForTheWholeMachine(t *testing.T) {
	if dir := os.Getenv(inDirectory); dir != "" {
		s := script.Script{Name: "startup_script", Text: []byte("readlink /proc/self/ns/mnt /proc/1/ns/mnt"), File: filepath.Join(dir, "s")}
		if err := script.Run(t.Context(), s); err != nil {
			t.Error(err)
		}
		return
	}
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("enters mount namespaces; run as root")
	}
	dir := t.TempDir()
	// A container whose first process is a shell, and a unit in it.
	const machine = `unshare --mount "$0" "-test.run=^TestAScriptMountsForTheWholeMachine$"; exit $?`
	c := exec.CommandContext(t.Context(), "unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", machine, os.Args[0])
	c.Env = append(os.Environ(), inDirectory+"="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "s.log"))
	if lines := strings.Fields(string(got)); err != nil || len(lines) != 2 || lines[0] != lines[1] {
		t.Errorf("got namespaces %v and %v, want the script in that of the first process", lines, err)
	}
}
