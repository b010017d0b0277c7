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
	// partSize is the size of a part in bytes. Parallel parts are held in memory at a time. S3
	// accepts 10,000 parts per upload, so an object can have 160 GB.
	partSize = 16 << 20
	parallel = 2
	// abortLimit is the timeout for aborting an upload.
	abortLimit = 30 * time.Second
)

// Put uploads a stream as one object, or leaves no object if it fails. Its error includes a failure
// to abort the multipart upload, because the remaining parts are billed.
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

// abortingClient records the error of an abort, which the manager drops when the upload failed for
// another reason.
type abortingClient struct {
	*s3.Client
	refused error
}

// AbortMultipartUpload implements transfermanager.S3APIClient.
func (c *abortingClient) AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, o ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error) {
	out, err := c.Client.AbortMultipartUpload(ctx, in, o...)
	if refusal, ok := errors.AsType[smithy.APIError](err); ok && refusal.ErrorCode() == "NoSuchUpload" {
		return &s3.AbortMultipartUploadOutput{}, nil // there are no parts left to abort
	}
	if err != nil {
		c.refused = fmt.Errorf("abort the multipart upload: %w", err)
	}
	return out, err
}
