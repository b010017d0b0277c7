package control

import (
	"context"
	"io"

	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// Objects is the control bucket, with writes that ask the engine's gate.
type Objects struct {
	Bucket

	Gated api.Objects
}

var _ hosted.Objects = Objects{}

// Has implements hosted.Objects.
func (o Objects) Has(ctx context.Context, key string) (bool, error) {
	if err := o.checkOwned(ctx); err != nil {
		return false, infra.IgnoreMissing(err)
	}
	_, err := o.Gated.Get(ctx, o.Name, key)
	if cloud.KindOf(err) == cloud.NotFound {
		return false, nil
	}
	return err == nil, err
}

// Upload implements hosted.Objects.
func (o Objects) Upload(ctx context.Context, key string, body io.ReadSeeker) error {
	if err := o.checkOwned(ctx); err != nil {
		return err
	}
	_, err := o.Gated.Write(ctx, &storage.Object{Bucket: o.Name, Name: key}, body, nil)
	return err
}

// Erase implements hosted.Objects.
func (o Objects) Erase(ctx context.Context, key string) error {
	if err := o.checkOwned(ctx); err != nil {
		return infra.IgnoreMissing(err)
	}
	return infra.IgnoreMissing(o.Gated.Delete(ctx, o.Name, key, nil))
}
