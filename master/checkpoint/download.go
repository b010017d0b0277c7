package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"github.com/det-deploy/det-deploy/internal/excerpt"
	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	"github.com/det-deploy/det-deploy/master/config"
)

// Buckets holds functions that open storages other than directories, by type, such as "s3".
type Buckets map[string]func(ctx context.Context, c config.CheckpointStorage) (storage.Source, error)

// Download writes an archive of a checkpoint's files to w. The checkpoint cannot be deleted
// meanwhile. Download writes nothing if it fails before it has found the first file.
func (c *Checkpoints) Download(ctx context.Context, uuid string, f storage.Format, w io.Writer) error {
	return c.withFiles(ctx, uuid, func(files storage.Checkpoint) error { return files.Pack(ctx, f, w) })
}

// DownloadFile calls serve with a file of a checkpoint. Its error has the code NotFound if the checkpoint
// does not have the file.
func (c *Checkpoints) DownloadFile(ctx context.Context, uuid, name string, serve func(io.ReadSeeker) error) error {
	return c.withFiles(ctx, uuid, func(files storage.Checkpoint) error {
		f, err := files.Open(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			return status.New(status.NotFound, "checkpoint '%s' has no file '%s'", uuid, excerpt.Of(name))
		}
		if err != nil {
			return err
		}
		return errors.Join(serve(f), f.Close())
	})
}

// withFiles calls do with the files of a checkpoint, which is not deleted meanwhile.
func (c *Checkpoints) withFiles(ctx context.Context, uuid string, do func(storage.Checkpoint) error) error {
	rec, release, err := c.Hold(ctx, uuid)
	if err != nil {
		return err
	}
	defer release()
	where, err := StorageOf(ctx, c.cfg.Store, rec.Experiment, rec.Storage)
	if err != nil {
		return err
	}
	src, err := c.openSource(ctx, where.Typed())
	if err != nil {
		return fmt.Errorf("download checkpoint %s: %w", uuid, err)
	}
	err = do(storage.Checkpoint{Source: src, UUID: rec.UUID, Resources: rec.Resources, Saved: rec.Reported})
	return errors.Join(err, src.Close())
}

// openSource opens a storage. With its own credentials the master only reads storages that an
// administrator has configured, because an experiment may name any location. It returns
// FailedPrecondition or Unimplemented if the master cannot read the storage.
func (c *Checkpoints) openSource(ctx context.Context, s config.CheckpointStorage) (storage.Source, error) {
	if !c.isConfigured(s) && !hasKeys(s) {
		return nil, status.New(status.FailedPrecondition, "the master only reads the checkpoint storages of the cluster and its workspaces, and storages with their own keys; "+
			"download it from the storage itself, with `det checkpoint download --mode direct`")
	}
	if dir := storage.DirectoryOf(s); dir != "" {
		src, err := storage.OpenDirectory(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			err = status.New(status.FailedPrecondition, "%v; download it on a machine that mounts it, with `det checkpoint download --mode direct`", err)
		}
		return src, err
	}
	open, found := c.cfg.Buckets[typeOf(s)]
	if !found {
		return nil, status.New(status.Unimplemented, "the master cannot read checkpoint storages of type %s; "+
			"download it from the storage itself, with `det checkpoint download --mode direct`", typeOf(s))
	}
	return open(ctx, s)
}

// hasKeys reports whether the configuration of a storage contains access keys.
func hasKeys(s config.CheckpointStorage) bool { return s.S3 != nil && !s.S3.AccessKey.IsZero() }

func typeOf(s config.CheckpointStorage) string {
	switch {
	case s.SharedFS != nil:
		return "shared_fs"
	case s.Directory != nil:
		return "directory"
	case s.S3 != nil:
		return "s3"
	case s.GCS != nil:
		return "gcs"
	case s.Azure != nil:
		return "azure"
	}
	return "none"
}

// isConfigured reports whether an administrator has configured the same storage location.
func (c *Checkpoints) isConfigured(s config.CheckpointStorage) bool {
	for _, own := range c.cfg.Storages() {
		if samePlace(own, s) {
			return true
		}
	}
	return false
}

func samePlace(a, b config.CheckpointStorage) bool {
	if typeOf(a) != typeOf(b) {
		return false
	}
	switch {
	case a.S3 != nil:
		return a.S3.Bucket == b.S3.Bucket && a.S3.EndpointURL == b.S3.EndpointURL && storage.ObjectName(a.S3.Prefix, "x") == storage.ObjectName(b.S3.Prefix, "x")
	case a.GCS != nil:
		return a.GCS.Bucket == b.GCS.Bucket && storage.ObjectName(a.GCS.Prefix, "x") == storage.ObjectName(b.GCS.Prefix, "x")
	case a.Azure != nil:
		return a.Azure.Container == b.Azure.Container
	case a.SharedFS != nil:
		return withoutOwn(a.SharedFS.Directory()) == withoutOwn(b.SharedFS.Directory())
	default:
		return storage.DirectoryOf(a) == storage.DirectoryOf(b)
	}
}

// withoutOwn returns the directory of the storage if dir is an experiment's directory in it.
func withoutOwn(dir string) string {
	if above, own := config.AboveOwn(dir); own != "" && path.Base(dir) == own && path.Dir(dir) == path.Clean("/"+above) {
		return above
	}
	return dir
}
