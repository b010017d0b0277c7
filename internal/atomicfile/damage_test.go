package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDamageHasDescription(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f.json")
	var into struct{ A []int }
	if err := ReadJSON(path, "x", &into); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for a file that is not there", err)
	}
	for text, want := range map[string]string{
		"": "it is empty", "\n": "it is empty", `{"A": [1, 2`: "it ends in the middle", "{": "it ends in the middle",
		"\x00\x00\x00": "it is not the document", `{"A": "no"}`: "it is not the document",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := ReadJSON(path, "remove it", &into)
		if _, ok := errors.AsType[*DamagedError](err); !ok || !strings.HasPrefix(err.Error(), "read "+path+": "+want) || !strings.HasSuffix(err.Error(), "; remove it") {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if err := os.WriteFile(path, []byte(`{"A": [1]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ReadJSON(path, "x", &into); err != nil || len(into.A) != 1 {
		t.Errorf("got %v, %v", into, err)
	}
}
