package parts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	gcpapi "github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	"github.com/det-deploy/det-deploy/master/config"
)

// checkpointBuckets returns the readers of checkpoints in buckets. Azure is not supported because its SDK
// would be an additional module for downloads alone.
func checkpointBuckets() checkpoint.Buckets {
	google := &googleBuckets{open: func(ctx context.Context) (gcpapi.Clients, error) {
		return gcpapi.Open(ctx, gcpapi.Options{AnyProject: true, AnyRegion: true})
	}}
	return checkpoint.Buckets{"s3": openS3, "gcs": google.openBucket}
}

// openS3 opens a bucket with the storage's keys or, without keys, with the master's identity.
func openS3(ctx context.Context, c config.CheckpointStorage) (storage.Source, error) {
	api, err := upload.Open(ctx, upload.Server{AccessKey: c.S3.AccessKey, SecretKey: c.S3.SecretKey, EndpointURL: c.S3.EndpointURL})
	if err != nil {
		return nil, err
	}
	return &s3Bucket{api: api, bucket: c.S3.Bucket, prefix: c.S3.Prefix}, nil
}

type s3Bucket struct {
	api            *s3.Client
	bucket, prefix string
}

// Open implements storage.Source.
func (b *s3Bucket) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, int64, error) {
	body, size, err := upload.Get(ctx, b.api, b.bucket, storage.ObjectName(b.prefix, name), offset)
	return body, size, asNotExist(err)
}

// Close implements storage.Source.
func (b *s3Bucket) Close() error { return nil }

// asNotExist wraps a NotFound error so that it matches fs.ErrNotExist.
func asNotExist(err error) error {
	if cloud.KindOf(err) == cloud.NotFound {
		return errors.Join(fs.ErrNotExist, err)
	}
	return err
}

// googleBuckets opens Google Cloud Storage buckets with a shared client.
type googleBuckets struct {
	open func(context.Context) (gcpapi.Clients, error)

	mu      sync.Mutex // guards clients
	clients *gcpapi.Clients
}

func (g *googleBuckets) openBucket(ctx context.Context, c config.CheckpointStorage) (storage.Source, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clients == nil {
		clients, err := g.open(context.WithoutCancel(ctx))
		if err != nil {
			return nil, fmt.Errorf("cannot open Cloud Storage: %w", err)
		}
		g.clients = &clients
	}
	return &gcsBucket{clients: *g.clients, bucket: c.GCS.Bucket, prefix: c.GCS.Prefix}, nil
}

type gcsBucket struct {
	clients        gcpapi.Clients
	bucket, prefix string
}

// Open implements storage.Source.
func (b *gcsBucket) Open(ctx context.Context, name string, offset int64) (io.ReadCloser, int64, error) {
	object := storage.ObjectName(b.prefix, name)
	about, err := gcpapi.Do(ctx, b.clients.Storage.Objects.Get(b.bucket, object))
	if err != nil {
		return nil, 0, asNotExist(err)
	}
	ctx, stop := context.WithCancel(ctx)
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(b.clients.FetchFrom(ctx, b.bucket, object, offset, w))
	}()
	return &pipeFile{PipeReader: r, stop: stop, done: done}, int64(about.Size), nil //nolint:gosec // no object is larger
}

// Close implements storage.Source.
func (b *gcsBucket) Close() error { return nil }

// pipeFile stops its writer when it is closed.
type pipeFile struct {
	*io.PipeReader

	stop context.CancelFunc
	done chan struct{}
}

// Close implements io.Closer.
func (f *pipeFile) Close() error {
	f.stop()
	err := f.PipeReader.Close()
	<-f.done
	return err
}
