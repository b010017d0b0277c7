package command_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
)

func TestReadYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "# nothing": 0, "~": 0, "a: 1\nb: {c: 2001-02-03}": 2} {
		file := filepath.Join(t.TempDir(), "a.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := command.ReadYAML(file, "the file")
		if err != nil || len(got.GetFields()) != want {
			t.Errorf("%q: got %v and %v, want %d keys", text, got, err, want)
		}
	}
}
