package hosted

import (
	"bytes"
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// manifestCache is what several resources of one plan read from the control bucket:
// the manifest as it was before anything was changed.
type manifestCache struct {
	c *Cluster

	once sync.Once
	m    manifest.Manifest
	err  error
}

// getCached is zero when no manifest is cached.
func (l *manifestCache) getCached(ctx context.Context) (manifest.Manifest, error) {
	l.once.Do(func() { l.m, l.err = l.c.readManifest(ctx) })
	return l.m, l.err
}

// readManifest reads the manifest as it is now; it is zero when there is none.
func (c *manifests) readManifest(ctx context.Context) (manifest.Manifest, error) {
	o, err := c.Objects.Get(ctx, manifest.Key)
	if cloud.KindOf(err) == cloud.NotFound {
		return manifest.Manifest{}, nil
	}
	if err != nil {
		return manifest.Manifest{}, err
	}
	return manifest.Parse(o.Data)
}

// readStatus reads what the machine says; it is zero when it said nothing.
func (c *manifests) readStatus(ctx context.Context) (manifest.Status, error) {
	o, err := c.Objects.Get(ctx, manifest.StatusKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return manifest.Status{}, nil
	}
	if err != nil {
		return manifest.Status{}, err
	}
	return manifest.ParseStatus(o.Data)
}

// readBoth reads the manifest and its status concurrently.
func (c *manifests) readBoth(ctx context.Context) (m manifest.Manifest, s manifest.Status, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		m, err = c.readManifest(ctx)
		return err
	})
	g.Go(func() (err error) {
		s, err = c.readStatus(ctx)
		return err
	})
	return m, s, g.Wait()
}

// writeManifest writes m as the generation after the last that its machine has seen.
func (c *manifests) writeManifest(ctx context.Context, m manifest.Manifest, status manifest.Status) error {
	m.Generation = max(m.Generation, status.Generation) + 1
	data, err := m.Encode()
	if err != nil {
		return err
	}
	return c.putObject(ctx, manifest.Key, data)
}

// putObject writes one object of the control bucket, if the gate admits it.
func (c *manifests) putObject(ctx context.Context, key string, data []byte) error {
	return c.Objects.Upload(ctx, key, bytes.NewReader(data))
}
