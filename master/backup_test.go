package master

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/store"
)

var errUploaded = errors.New("uploaded")

func TestBackupWritesToBucketByURL(t *testing.T) { //nolint:paralleltest // a relative path is of the working directory
	t.Chdir(t.TempDir())
	p := Parts{Config: config.DefaultMaster(), Uploads: map[string]Upload{
		"s3": func(context.Context, string, io.Reader) error { return errUploaded },
	}}
	p.Config.DataDir = t.TempDir()
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(p.Config.DataDir, databaseFile), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), p, "s3://backups/lab", false); !errors.Is(err, errUploaded) {
		t.Errorf("a URL: got %v, want it uploaded", err)
	}
	size, err := Backup(t.Context(), p, "s3", false)
	if err != nil {
		t.Fatal(err)
	}
	if file, err := os.Stat("s3"); err != nil || file.Size() != size {
		t.Errorf("a file called s3: got %v, want %d bytes", err, size)
	}
}
