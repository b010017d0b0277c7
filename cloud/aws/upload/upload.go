// Package upload streams objects of unknown length to and from an S3 bucket of the user's choice,
// such as a backup that must outlive its cluster. It works with the default AWS credentials or
// explicit ones, and with S3-compatible servers.
package upload

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

// Scheme is the prefix of an object's URL.
const Scheme = "s3://"

// Address splits "s3://bucket/name" into the bucket and the object's name.
func Address(url string) (bucket, name string, err error) {
	rest, ok := strings.CutPrefix(url, Scheme)
	bucket, name, _ = strings.Cut(rest, "/")
	if !ok || bucket == "" || name == "" || strings.HasSuffix(name, "/") {
		return "", "", fmt.Errorf("must be s3://BUCKET/NAME (is %q)", url)
	}
	return bucket, name, nil
}

// Server holds the credentials and the endpoint of an S3 server. An empty field falls back to the
// environment, the instance profile or the pod's service account.
type Server struct {
	AccessKey, SecretKey secret.Value
	EndpointURL          string
}

// defaultRegion is used if no region is configured. S3-compatible servers ignore it; Amazon S3
// requires the bucket's region.
const defaultRegion = "us-east-1"

// Open returns a client for a server. It sends no request to the bucket.
func Open(ctx context.Context, s Server) (*s3.Client, error) {
	var load []func(*config.LoadOptions) error
	if !s.AccessKey.IsZero() {
		load = append(load, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(s.AccessKey.Reveal(), s.SecretKey.Reveal(), "")))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		cfg.Region = defaultRegion
	}
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		if s.EndpointURL != "" {
			o.BaseEndpoint, o.UsePathStyle = aws.String(s.EndpointURL), true
		}
	}), nil
}

// refusalError classifies an error of an upload and adds the fix for it.
func refusalError(bucket, name string, err error) error {
	e := &cloud.Error{Kind: cloud.Unknown, Op: "s3:PutObject", Resource: Scheme + bucket + "/" + name, Err: err}
	if refusal, ok := errors.AsType[smithy.APIError](err); ok {
		switch refusal.ErrorCode() {
		case "NoSuchBucket":
			e.Kind, e.Fix = cloud.NotFound, "create the bucket, or choose another"
		case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch":
			e.Kind, e.Fix = cloud.Denied, "grant the master's credentials s3:PutObject and s3:AbortMultipartUpload on the bucket"
		case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
			e.Kind, e.Fix = cloud.Invalid, "set AWS_REGION to the bucket's region"
		}
	}
	return e
}
