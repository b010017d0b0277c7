package upload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/s3/transfermanager"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

const (
	// partSize is the size of a part in bytes, of which parallel are held in memory. S3 takes 10,000
	// of them, so 160 GB in all.
	partSize = 16 << 20
	parallel = 2
	// abortLimit bounds the abort of an upload.
	abortLimit = 30 * time.Second
)

// Put writes an object from a stream, whole or not at all. Its error is also that of an
// abort that is refused: then parts are left, which cost.
func Put(ctx context.Context, api *s3.Client, bucket, name string, from io.Reader) error {
	client := &abortingClient{Client: api}
	manager := transfermanager.New(client, func(o *transfermanager.Options) {
		o.PartSizeBytes, o.MultipartUploadThreshold, o.Concurrency = partSize, partSize, parallel
		o.FailTimeout, o.RequestChecksumCalculation = abortLimit, api.Options().RequestChecksumCalculation
	})
	_, err := manager.UploadObject(ctx, &transfermanager.UploadObjectInput{Bucket: &bucket, Key: &name, Body: from})
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(err, cause)
	}
	return errors.Join(refusalError(bucket, name, err), client.refused)
}

// abortingClient keeps the error of an abort, of which the manager says nothing when the upload failed
// for another reason.
type abortingClient struct {
	*s3.Client
	refused error
}

// AbortMultipartUpload implements transfermanager.S3APIClient.
func (c *abortingClient) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, o ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error) {
	out, err := c.Client.AbortMultipartUpload(ctx, in, o...)
	if refusal, ok := errors.AsType[smithy.APIError](err); ok && refusal.ErrorCode() == "NoSuchUpload" {
		return &s3.AbortMultipartUploadOutput{}, nil // nothing is left
	}
	if err != nil {
		c.refused = fmt.Errorf("give up the upload that was begun: %w", err)
	}
	return out, err
}
