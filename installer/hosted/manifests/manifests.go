// Package manifests reads and writes the manifest of a cluster in its control bucket, and
// waits until the master's machine runs what it says.
package manifests

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Objects is what is asked of the control bucket.
type Objects interface {
	// Get reads an object. It is a refusal of kind NotFound when there is none.
	Get(ctx context.Context, key string) (record.Object, error)
	// Upload writes an object, if the engine's gate admits it.
	Upload(ctx context.Context, key string, body io.ReadSeeker) error
}

// Bucket is a control bucket, with how it is waited for what its machine says.
type Bucket struct {
	Objects Objects
	// Noun is the command of the cluster's cloud: "aws".
	Noun  string
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error

	mu      sync.Mutex // guards written
	written manifest.Manifest
}

// Cache is what several resources of one plan read from the control bucket: the
// manifest as it was before anything was changed, and its status. A plan that is applied
// was made under the lease: only its own machine's status changes meanwhile.
type Cache struct {
	From *Bucket

	once   sync.Once
	m      manifest.Manifest
	status manifest.Status
	err    error
}

// Get is the manifest at the first call; it is zero when there was none.
func (l *Cache) Get(ctx context.Context) (manifest.Manifest, error) {
	m, _, err := l.GetBoth(ctx)
	return m, err
}

// GetBoth is the manifest and its status at the first call.
func (l *Cache) GetBoth(ctx context.Context) (manifest.Manifest, manifest.Status, error) {
	l.once.Do(func() { l.m, l.status, l.err = l.From.ReadBoth(ctx) })
	return l.m, l.status, l.err
}

// Read reads the manifest as it is now; it is zero when there is none.
func (c *Bucket) Read(ctx context.Context) (manifest.Manifest, error) {
	return readObject(ctx, c.Objects, manifest.Key, manifest.Parse)
}

// ReadStatus reads what the machine says; it is zero when it said nothing.
func (c *Bucket) ReadStatus(ctx context.Context) (manifest.Status, error) {
	return readObject(ctx, c.Objects, manifest.StatusKey, manifest.ParseStatus)
}

func readObject[T any](ctx context.Context, objects Objects, key string, parse func([]byte) (T, error)) (T, error) {
	var none T
	o, err := objects.Get(ctx, key)
	if cloud.KindOf(err) == cloud.NotFound {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	return parse(o.Data)
}

// ReadBoth reads the manifest and its status concurrently.
func (c *Bucket) ReadBoth(ctx context.Context) (m manifest.Manifest, s manifest.Status, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		m, err = c.Read(ctx)
		return err
	})
	g.Go(func() (err error) {
		s, err = c.ReadStatus(ctx)
		return err
	})
	return m, s, g.Wait()
}

// Write writes m as the generation after the last that its machine has seen.
func (c *Bucket) Write(ctx context.Context, m manifest.Manifest, status manifest.Status) error {
	m.Generation = max(m.Generation, status.Generation) + 1
	data, err := m.Encode()
	if err != nil {
		return err
	}
	if err := c.Put(ctx, manifest.Key, data); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = m
	return nil
}

// Current is the manifest as it is while the lease is held: as this process has written it,
// or else as it is read.
func (c *Bucket) Current(ctx context.Context) (manifest.Manifest, error) {
	c.mu.Lock()
	m := c.written
	c.mu.Unlock()
	if m.Schema != "" {
		return m, nil
	}
	return c.Read(ctx)
}

// Put writes one object of the control bucket, if the gate admits it.
func (c *Bucket) Put(ctx context.Context, key string, data []byte) error {
	return c.Objects.Upload(ctx, key, bytes.NewReader(data))
}
