package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The kinds that the control bucket holds.
const (
	kindProgram  = "program"
	kindManifest = "manifest"
)

// program is det-deploy for one architecture in the control bucket, by its hash.
// The one that the cluster runs already stays: only an upgrade brings another.
type program struct {
	t    *Target
	arch string
	lore *lore
}

var (
	_ resource.Telling   = (*program)(nil)
	_ resource.Described = (*program)(nil)
)

// ID is "aws/program/" and the architecture.
func (p *program) ID() string { return programID(p.arch) }

func programID(arch string) string { return "aws/" + kindProgram + "/" + arch }

// Kind is kindProgram.
func (*program) Kind() string { return kindProgram }

// Needs nothing.
func (*program) Needs() []string { return nil }

// Find looks whether it is there. A cluster that runs none yet, looked at by who
// brings none, has none: it can be shown and taken down all the same.
func (p *program) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	m, err := p.lore.manifest(ctx)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if m.Binaries[p.arch].SHA256 == "" && p.t.Programs == nil {
		return resource.Found{}, nil, nil
	}
	sum, err := p.sum(ctx)
	if err != nil {
		return resource.Found{}, nil, err
	}
	key := manifest.BinaryKey(sum)
	_, err = p.t.Clients.S3.HeadObject(ctx, p.t.head(key))
	if cloud.KindOf(err) == cloud.NotFound {
		return resource.Found{}, nil, nil
	}
	if err != nil {
		return resource.Found{}, nil, fmt.Errorf("look for the program for %s: %w", p.arch, err)
	}
	return resource.Found{Kind: kindProgram, ID: key, Name: p.arch}, nil, nil
}

// sum is the hash of the program that the cluster runs, or is to run.
func (p *program) sum(ctx context.Context) (string, error) {
	m, err := p.lore.manifest(ctx)
	if err != nil {
		return "", err
	}
	if f, ok := m.Binaries[p.arch]; ok {
		return f.SHA256, nil
	}
	mine, ok := p.t.Programs[p.arch]
	if !ok {
		return "", errMissing([]string{p.arch})
	}
	return mine.SHA256, nil
}

// Describe is its version.
func (p *program) Describe() []string {
	return []string{"det-deploy " + p.t.Version + " for linux/" + p.arch}
}

// Create uploads it.
func (p *program) Create(ctx context.Context) error {
	return p.CreateTelling(ctx, func(string) {})
}

// CreateTelling uploads it and tells how far that is.
func (p *program) CreateTelling(ctx context.Context, tell func(string)) error {
	sum, err := p.sum(ctx)
	if err != nil {
		return err
	}
	mine := p.t.Programs[p.arch]
	if mine.SHA256 != sum {
		return &cloud.Error{
			Kind: cloud.NotFound, Op: "upload", Resource: p.ID(), Fix: "name the program that the cluster runs with --binary " + p.arch + "=PATH",
			Err: fmt.Errorf("the cluster runs one with the hash %s, which is neither in its bucket nor here", short(sum)),
		}
	}
	return p.t.upload(ctx, mine, tell)
}

// upload puts a program where machines look for it.
func (t *Target) upload(ctx context.Context, p Program, tell func(string)) error {
	f, err := t.Open(p.Path)
	if err != nil {
		return fmt.Errorf("read the program %s: %w", p.Path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	body, err := watchUpload(f, t.Now, tell)
	if err != nil {
		return fmt.Errorf("read the program %s: %w", p.Path, err)
	}
	_, err = t.Clients.S3.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &t.store.Name, Key: aws.String(manifest.BinaryKey(p.SHA256)), Body: body, ExpectedBucketOwner: &t.store.Account,
	})
	return err
}

// Delete leaves it: it goes with the bucket.
func (*program) Delete(context.Context) error { return nil }

func (t *Target) head(key string) *s3.HeadObjectInput {
	return &s3.HeadObjectInput{Bucket: &t.store.Name, Key: &key, ExpectedBucketOwner: &t.store.Account}
}

func short(sum string) string { return strings.ToLower(sum)[:min(len(sum), 12)] }
