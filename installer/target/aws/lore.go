package aws

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// lore is what several resources of one plan read from the control bucket: the
// manifest as it was before anything was changed.
type lore struct {
	t *Target

	once sync.Once
	m    manifest.Manifest
	err  error
}

// manifest is zero when there is none.
func (l *lore) manifest(ctx context.Context) (manifest.Manifest, error) {
	l.once.Do(func() { l.m, l.err = l.t.readManifest(ctx) })
	return l.m, l.err
}

// readManifest reads the manifest as it is now; it is zero when there is none.
func (t *Target) readManifest(ctx context.Context) (manifest.Manifest, error) {
	o, err := t.store.Get(ctx, manifest.Key)
	if cloud.KindOf(err) == cloud.NotFound {
		return manifest.Manifest{}, nil
	}
	if err != nil {
		return manifest.Manifest{}, err
	}
	return manifest.Parse(o.Data)
}

// readStatus reads what the machine says; it is zero when it said nothing.
func (t *Target) readStatus(ctx context.Context) (manifest.Status, error) {
	o, err := t.store.Get(ctx, manifest.StatusKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return manifest.Status{}, nil
	}
	if err != nil {
		return manifest.Status{}, err
	}
	return manifest.ParseStatus(o.Data)
}

// told reads side by side what the machine is told, and what it says.
func (t *Target) told(ctx context.Context) (m manifest.Manifest, s manifest.Status, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		m, err = t.readManifest(ctx)
		return err
	})
	g.Go(func() (err error) {
		s, err = t.readStatus(ctx)
		return err
	})
	return m, s, g.Wait()
}
