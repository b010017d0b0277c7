package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/host"
)

func TestSystemdRunning(t *testing.T) {
	// A test that sets PATH cannot be parallel.
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	tests := map[string]struct {
		says string
		want bool
	}{
		"it runs":                  {"ActiveState=active", true},
		"it starts":                {"ActiveState=activating", true},
		"it is started again soon": {"ActiveState=activating\nJob=", true},
		"it waits for its volume":  {"ActiveState=inactive\nJob=41", true},
		"it was stopped":           {"ActiveState=inactive\nJob=0", false},
		"it failed":                {"ActiveState=failed", false},
	}
	for name, tt := range tests {
		program := "#!/bin/sh\ncat <<'X'\n" + tt.says + "\nX\n"
		if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte(program), 0o755); err != nil {
			t.Fatal(err)
		}
		if got, err := (host.Systemd{}).Running(t.Context(), "x.service"); err != nil || got != tt.want {
			t.Errorf("%s: got %v, %v; want %v", name, got, err, tt.want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "systemctl"), []byte("#!/bin/sh\necho no such unit >&2\nexit 5\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (host.Systemd{}).Stop(t.Context(), "x.service"); err == nil || !strings.Contains(err.Error(), "systemctl stop x.service: exit status 5: no such unit") {
		t.Errorf("got %v, want the command and its output", err)
	}
}
