package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/atomicfile"
)

func TestDamageOfWhatAnAgentRemembersIsNamed(t *testing.T) {
	t.Parallel()
	for name, look := range map[string]func(dir string) error{
		selfFile:        func(dir string) error { _, err := readSelf(dir); return err },
		"followed.json": func(dir string) error { return mayFollow(dir, time.Now()) },
	} {
		for text, want := range map[string]string{"": "it is empty", `{"A`: "it ends in the middle"} {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			err := look(dir)
			d, ok := errors.AsType[*atomicfile.DamagedError](err)
			if !ok || d.Path != path || !strings.Contains(err.Error(), want) || !strings.Contains(d.Fix, "remove it") {
				t.Errorf("%s %q: got %v, want %s", name, text, err, want)
				continue
			}
			if err := errors.Join(os.Remove(path), look(dir)); err != nil {
				t.Errorf("%s: after what it says to do: got %v", name, err)
			}
		}
	}
}
