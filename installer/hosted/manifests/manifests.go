// Package manifests writes the master's manifest to the control bucket of a cluster and waits until
// the master's machine has applied it.
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

// Objects reads and writes the objects of a control bucket.
type Objects interface {
	// Get reads an object. It returns an error of kind NotFound if the object does not exist.
	Get(ctx context.Context, key string) (record.Object, error)
	// Upload writes an object. It returns an error if the engine's gate is closed.
	Upload(ctx context.Context, key string, body io.ReadSeeker) error
}

// Bucket is a control bucket, with the clock that waiting for the machine uses.
type Bucket struct {
	Objects Objects
	// Noun is the subcommand of the cluster's cloud, such as "aws".
	Noun  string
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error

	mu      sync.Mutex // guards written
	written manifest.Manifest
}

// Cache reads the manifest and its status once for several resources of a plan: as they were before
// the first change. An applied plan is made under the lease, so only the status changes meanwhile,
// by the cluster's own machine.
type Cache struct {
	From *Bucket

	once   sync.Once
	m      manifest.Manifest
	status manifest.Status
	err    error
}

// Get returns the manifest as read by the first call; it is zero if the bucket has no manifest.
func (l *Cache) Get(ctx context.Context) (manifest.Manifest, error) {
	m, _, err := l.GetBoth(ctx)
	return m, err
}

// GetBoth returns the manifest and its status as read by the first call.
func (l *Cache) GetBoth(ctx context.Context) (manifest.Manifest, manifest.Status, error) {
	l.once.Do(func() { l.m, l.status, l.err = l.From.ReadBoth(ctx) })
	return l.m, l.status, l.err
}

// Read returns the current manifest; it is zero if the bucket has no manifest.
func (c *Bucket) Read(ctx context.Context) (manifest.Manifest, error) {
	return readObject(ctx, c.Objects, manifest.Key, manifest.Parse)
}

// ReadStatus returns the last status that the machine reported; it is zero before the first report.
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

// Write writes m with the generation that follows both its own and the last one that the machine
// has reported.
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

// Current returns the manifest as this process last wrote it under the lease, or else reads it.
func (c *Bucket) Current(ctx context.Context) (manifest.Manifest, error) {
	c.mu.Lock()
	m := c.written
	c.mu.Unlock()
	if m.Schema != "" {
		return m, nil
	}
	return c.Read(ctx)
}

// Put writes one object of the control bucket. It returns an error if the gate is closed.
func (c *Bucket) Put(ctx context.Context, key string, data []byte) error {
	return c.Objects.Upload(ctx, key, bytes.NewReader(data))
}
