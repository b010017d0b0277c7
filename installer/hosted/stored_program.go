package hosted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
	"github.com/det-deploy/det-deploy/installer/hosted/program"
)

// The kinds of objects in the control bucket.
const (
	KindProgram  = "program"
	KindManifest = "manifest"
)

// storedProgram is the det-deploy program for one architecture in the control bucket, named by its
// hash. A cluster keeps the program that it runs; only an upgrade stores another.
type storedProgram struct {
	c        *Cluster
	arch     string
	manifest *manifests.Cache
}

var _ resource.Described = (*storedProgram)(nil)

func (p *storedProgram) ID() string { return p.c.resourceID(KindProgram, p.arch) }

func (*storedProgram) Kind() string { return KindProgram }

// Needs returns nil: the program depends on no other resource.
func (*storedProgram) Needs() []string { return nil }

// Find looks for the program in the bucket. It does not fail if the cluster runs no program yet and
// none was given, so that such a cluster can be shown and deleted.
func (p *storedProgram) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	mine, brought := p.c.Programs[p.arch]
	// Usually the cluster runs the given program, so look for that while reading the manifest.
	var m manifest.Manifest
	var exists bool
	var manifestErr, err error
	var asked sync.WaitGroup
	asked.Go(func() { m, manifestErr = p.manifest.Get(ctx) })
	if brought {
		asked.Go(func() { exists, err = p.c.Objects.Has(ctx, manifest.BinaryKey(mine.SHA256)) })
	}
	asked.Wait()
	if manifestErr != nil {
		return resource.Found{}, nil, manifestErr
	}
	if m.Binaries[p.arch].SHA256 == "" && p.c.Programs == nil {
		return resource.Found{}, nil, nil
	}
	sum, sumErr := p.wantedSum(ctx)
	if sumErr != nil {
		return resource.Found{}, nil, sumErr
	}
	key := manifest.BinaryKey(sum)
	if !brought || sum != mine.SHA256 {
		exists, err = p.c.Objects.Has(ctx, key)
	}
	if err != nil {
		return resource.Found{}, nil, fmt.Errorf("find the program for %s: %w", p.arch, err)
	}
	if !exists {
		return resource.Found{}, nil, nil
	}
	return resource.Found{Kind: KindProgram, ID: key, Name: p.arch}, nil, nil
}

// wantedSum returns the hash of the program that the cluster runs or will run.
func (p *storedProgram) wantedSum(ctx context.Context) (string, error) {
	m, err := p.manifest.Get(ctx)
	if err != nil {
		return "", err
	}
	if f, ok := m.Binaries[p.arch]; ok {
		return f.SHA256, nil
	}
	mine, ok := p.c.Programs[p.arch]
	if !ok {
		return "", p.c.missingProgram([]string{p.arch})
	}
	return mine.SHA256, nil
}

// Describe returns the version.
func (p *storedProgram) Describe() []string {
	return []string{"det-deploy " + p.c.Version + " for linux/" + p.arch}
}

// Create uploads the program and reports the progress.
func (p *storedProgram) Create(ctx context.Context) error {
	sum, err := p.wantedSum(ctx)
	if err != nil {
		return err
	}
	mine := p.c.Programs[p.arch]
	if mine.SHA256 != sum {
		return &cloud.Error{
			Kind: cloud.NotFound, Op: "upload", Resource: p.ID(), Fix: "name the program that the cluster runs with --binary " + p.arch + "=PATH",
			Err: fmt.Errorf("the cluster runs one with the hash %s, which is neither in its bucket nor here", manifests.ShortHash(sum)),
		}
	}
	return p.c.uploadProgram(ctx, mine, func(what string) { resource.Tell(ctx, what) })
}

// uploadProgram uploads a program to the control bucket.
func (c *Cluster) uploadProgram(ctx context.Context, p program.File, tell func(string)) error {
	f, err := c.Open(p.Path)
	if err != nil {
		return fmt.Errorf("read the program %s: %w", p.Path, err)
	}
	defer func() { _ = f.Close() }() // only read
	body, err := program.WatchUpload(f, c.Now, tell)
	if err != nil {
		return fmt.Errorf("read the program %s: %w", p.Path, err)
	}
	return c.Objects.Upload(ctx, manifest.BinaryKey(p.SHA256), body)
}

// Delete keeps the program, which is deleted with the bucket.
func (*storedProgram) Delete(context.Context) error { return nil }

// missingProgram reports that no program is available for some machines. A program for Linux was available if there is
// any.
func (c *Cluster) missingProgram(archs []string) error {
	e := &cloud.Error{
		Kind: cloud.Invalid, Op: "find det-deploy for " + strings.Join(archs, ", "),
		Fix: "name the one in the archive linux-" + archs[0] + " of this version with --binary " + archs[0] + "=PATH",
		Err: errors.New("the cluster's machines run it, and this program is not for them"),
	}
	if len(c.Programs) > 0 {
		e.Fix += ", or choose instance types of another architecture"
	}
	return e
}
