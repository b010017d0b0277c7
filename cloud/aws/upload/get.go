package upload

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/cloud"
)

// Get returns a reader for an object from an offset on, and the size of all of it in bytes. It returns
// an error of the kind cloud.NotFound if the bucket or the object does not exist.
func Get(ctx context.Context, api *s3.Client, bucket, name string, offset int64) (io.ReadCloser, int64, error) {
	in := &s3.GetObjectInput{Bucket: &bucket, Key: &name}
	if offset > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	out, err := api.GetObject(ctx, in, func(o *s3.Options) {
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	if err != nil {
		return nil, 0, readError(bucket, name, err)
	}
	return out.Body, offset + aws.ToInt64(out.ContentLength), nil
}

// readError classifies an error of GetObject and adds the fix for it.
func readError(bucket, name string, err error) error {
	e := &cloud.Error{Kind: cloud.Unknown, Op: "s3:GetObject", Resource: Scheme + bucket + "/" + name, Err: err}
	if refusal, ok := errors.AsType[smithy.APIError](err); ok {
		switch refusal.ErrorCode() {
		case "NoSuchBucket", "NoSuchKey":
			e.Kind = cloud.NotFound
		case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch":
			e.Kind, e.Fix = cloud.Denied, "grant the master's credentials s3:GetObject and s3:ListBucket on the bucket"
		case "PermanentRedirect", "AuthorizationHeaderMalformed":
			e.Kind, e.Fix = cloud.Invalid, "set AWS_REGION of the master to the bucket's region"
		}
	}
	return e
}
