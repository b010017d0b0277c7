package machine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/host/follow"
)

// Bucket is the cluster's control bucket.
type Bucket struct {
	Name string
	S3   api.S3
}

var _ follow.Bucket = Bucket{}

// maxChanged is the maximum size of an object read by Changed. Manifests are much smaller.
const maxChanged = 4 << 20

// Changed returns an object and its ETag, or no data if the ETag is still the given one.
func (b Bucket) Changed(ctx context.Context, key, mark string) (data []byte, now string, err error) {
	in := &s3.GetObjectInput{Bucket: &b.Name, Key: &key}
	if mark != "" {
		in.IfNoneMatch = &mark
	}
	out, err := b.S3.GetObject(ctx, in, muteChecksumLog)
	if e, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && e.HTTPStatusCode() == http.StatusNotModified {
		return nil, mark, nil
	}
	if err != nil {
		return nil, "", err
	}
	defer out.Body.Close() //nolint:errcheck // it was only read
	data, err = io.ReadAll(io.LimitReader(out.Body, maxChanged))
	if err != nil {
		return nil, "", fmt.Errorf("read %s of bucket %s: %w", key, b.Name, err)
	}
	return data, aws.ToString(out.ETag), nil
}

// Fetch downloads an object.
func (b Bucket) Fetch(ctx context.Context, key string, to io.Writer) error {
	out, err := b.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.Name, Key: &key}, muteChecksumLog)
	if err != nil {
		return err
	}
	defer out.Body.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(to, out.Body); err != nil {
		return fmt.Errorf("read %s of bucket %s: %w", key, b.Name, err)
	}
	return nil
}

// Put writes an object.
func (b Bucket) Put(ctx context.Context, key string, data []byte) error {
	_, err := b.S3.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.Name, Key: &key, Body: bytes.NewReader(data), ContentType: aws.String("application/json"),
	})
	return err
}

// muteChecksumLog disables the SDK's warning about objects without a checksum, because the content
// is verified against the manifest.
func muteChecksumLog(o *s3.Options) { o.DisableLogOutputChecksumValidationSkipped = true }
