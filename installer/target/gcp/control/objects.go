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

// Objects is the control bucket with writes that ask the engine's gate.
type Objects struct {
	Bucket

	Gated api.Clients
}

var _ hosted.Objects = Objects{}

// Has implements hosted.Objects.
func (o Objects) Has(ctx context.Context, key string) (bool, error) {
	if err := o.checkOwned(ctx); err != nil {
		return false, infra.IgnoreMissing(err)
	}
	_, err := api.Do(ctx, o.Gated.Storage.Objects.Get(o.Name, key))
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
	_, err := o.Gated.Upload(ctx, &storage.Object{Bucket: o.Name, Name: key}, body, nil)
	return err
}

// Erase implements hosted.Objects.
func (o Objects) Erase(ctx context.Context, key string) error {
	if err := o.checkOwned(ctx); err != nil {
		return infra.IgnoreMissing(err)
	}
	return infra.IgnoreMissing(api.Delete(ctx, o.Gated.Storage.Objects.Delete(o.Name, key)))
}
