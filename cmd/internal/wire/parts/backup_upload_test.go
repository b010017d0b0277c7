package parts

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/store"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// A backup in a bucket equals a backup in a file. It is written with the keys of the checkpoint storage.
func TestBackupInBucketCanBeRestored(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	cfg := config.DefaultMaster()
	cfg.DataDir = t.TempDir()
	keys := upload.Server{AccessKey: secret.Literal(a.AccessKey), SecretKey: secret.Literal(a.SecretKey), EndpointURL: a.Endpoint}
	cfg.CheckpointStorage = &config.CheckpointStorage{S3: &config.S3Storage{AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, EndpointURL: keys.EndpointURL}}
	s, err := store.Open(t.Context(), store.Config{Path: filepath.Join(cfg.DataDir, "master.db"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	c, err := upload.Open(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	bucket, name := "backups-"+a.ID, "lab/1.backup"
	if _, err := master.Backup(t.Context(), Of(cfg, slog.DiscardHandler), "s3://"+bucket+"/"+name, false); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("a bucket that is not there: got %v", err)
	}
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	size, err := master.Backup(t.Context(), Of(cfg, slog.DiscardHandler), "s3://"+bucket+"/"+name, false)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &name})
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(out.Body)
	if err != nil || int64(len(data)) != size || size == 0 {
		t.Fatalf("got %d bytes (%v), want the reported %d", len(data), err, size)
	}
	file := filepath.Join(t.TempDir(), "backup")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.DataDir = t.TempDir()
	if err := master.Restore(t.Context(), Of(cfg, slog.DiscardHandler), file); err != nil {
		t.Error(err)
	}
}
