package checkpoint_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	masterconfig "github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/lifecycle"
	"github.com/det-deploy/det-deploy/test/storetest"
)

// download downloads a checkpoint of an experiment with storage used from a master that has
// configured another storage.
func download(t *testing.T, configured, used masterconfig.CheckpointStorage) ([]byte, error) {
	t.Helper()
	s := storetest.New(t)
	x := configuration(0, 1, 1)
	x.CheckpointStorage = config.StorageOf(used)
	putExperiment(t, s, 1, lifecycle.Completed, x)
	put(t, s, saved("a", 1, 1))
	c := open(t, checkpoint.Config{
		Store: s, Tasks: &queue{}, Storages: func() []masterconfig.CheckpointStorage { return []masterconfig.CheckpointStorage{configured} },
	})
	var out bytes.Buffer
	err := c.Download(t.Context(), "a", storage.Tar, &out)
	return out.Bytes(), err
}

func directory(dir string) masterconfig.CheckpointStorage {
	return masterconfig.CheckpointStorage{SharedFS: &masterconfig.SharedFSStorage{HostPath: dir}}
}

func TestDownloadFromConfiguredStorage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "weights"), []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := download(t, directory(dir), directory(dir+"/"))
	if err != nil || !bytes.Contains(data, []byte("weights")) {
		t.Errorf("got %d bytes, error %v", len(data), err)
	}
	_, err = download(t, directory("/elsewhere"), directory(dir))
	wantError(t, err, "only reads the checkpoint storages of the cluster", "--mode direct")
}

func TestDownloadRefusals(t *testing.T) {
	t.Parallel()
	azure := masterconfig.CheckpointStorage{Azure: &masterconfig.AzureStorage{Container: "c", AccountURL: "https://a"}}
	_, err := download(t, azure, azure)
	wantError(t, err, "type azure", "--mode direct")
	own := masterconfig.CheckpointStorage{S3: &masterconfig.S3Storage{Bucket: "mine"}}
	_, err = download(t, masterconfig.CheckpointStorage{S3: &masterconfig.S3Storage{Bucket: "b"}}, own)
	wantError(t, err, "only reads the checkpoint storages")
	gone := directory(filepath.Join(t.TempDir(), "not mounted here"))
	_, err = download(t, gone, gone)
	wantError(t, err, "which the master must be able to read", "--mode direct")
	if status.Of(err) != status.FailedPrecondition {
		t.Errorf("got %v, want FailedPrecondition", err)
	}
	own.S3.AccessKey, own.S3.SecretKey = secret.Literal("k"), secret.Literal("s")
	_, err = download(t, masterconfig.CheckpointStorage{}, own)
	wantError(t, err, "type s3") // allowed to read, but this master has no SDK for S3
}

func TestDownloadHoldsCheckpoint(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	put(t, s, saved("a", 1, 1))
	c := open(t, checkpoint.Config{Store: s, Tasks: &queue{}})
	_, release, err := c.Hold(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	order := checkpoint.Order{UUIDs: []string{"a"}, Globs: checkpoint.AllFiles(), May: func(int32) error { return nil }}
	wantError(t, c.Delete(t.Context(), order), "it is being downloaded")
	release()
	if err := c.Delete(t.Context(), order); err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Hold(t.Context(), "a")
	wantError(t, err, "DELETING")
}
