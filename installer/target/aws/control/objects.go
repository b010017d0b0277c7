package control

import (
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// Objects is the control bucket with writes that ask the engine's gate.
type Objects struct {
	Bucket

	Gated api.S3
}

var _ hosted.Objects = Objects{}

// Has implements hosted.Objects.
func (o Objects) Has(ctx context.Context, key string) (bool, error) {
	_, err := o.Gated.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &o.Name, Key: &key, ExpectedBucketOwner: &o.Account})
	if cloud.KindOf(err) == cloud.NotFound {
		return false, nil
	}
	return err == nil, err
}

// Upload implements hosted.Objects.
func (o Objects) Upload(ctx context.Context, key string, body io.ReadSeeker) error {
	_, err := o.Gated.PutObject(ctx, &s3.PutObjectInput{Bucket: &o.Name, Key: &key, Body: body, ExpectedBucketOwner: &o.Account})
	return err
}

// Erase implements hosted.Objects.
func (o Objects) Erase(ctx context.Context, key string) error {
	_, err := o.Gated.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &o.Name, Key: &key, ExpectedBucketOwner: &o.Account})
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}
