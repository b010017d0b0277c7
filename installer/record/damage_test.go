package record_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

func TestReadReportsDamagedRecord(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "it is empty", `{"schema": "1", "settings": {"a`: "it ends in the middle", "\x00\x00": "it is not the document",
	} {
		dir := record.Dir{Path: t.TempDir()}
		path := filepath.Join(dir.Path, record.Key)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, _, err := record.Read(t.Context(), dir)
		d, ok := errors.AsType[*atomicfile.DamagedError](err)
		if !ok || d.Path != path || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}
