// Package upload writes something of unknown length into a bucket that the user names:
// a backup that must not depend on the cluster it is of. It is used with whatever
// credentials the program finds or was given, and with servers other than Amazon's.
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

// Scheme begins the address of an object.
const Scheme = "s3://"

// Address takes "s3://bucket/name" apart.
func Address(url string) (bucket, name string, err error) {
	rest, ok := strings.CutPrefix(url, Scheme)
	bucket, name, _ = strings.Cut(rest, "/")
	if !ok || bucket == "" || name == "" || strings.HasSuffix(name, "/") {
		return "", "", fmt.Errorf("must be s3://BUCKET/NAME (is %q)", url)
	}
	return bucket, name, nil
}

// Server is where a bucket is, as far as the environment does not say. Empty is the
// environment's, the machine's or the pod's own.
type Server struct {
	AccessKey, SecretKey secret.Value
	EndpointURL          string
}

// defaultRegion is for servers that know no regions; Amazon's wants the bucket's own.
const defaultRegion = "us-east-1"

// Open makes no call to the bucket.
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

// refusalError says what the bucket's refusal means.
func refusalError(bucket, name string, err error) error {
	e := &cloud.Error{Kind: cloud.Unknown, Op: "s3:PutObject", Resource: Scheme + bucket + "/" + name, Err: err}
	if refusal, ok := errors.AsType[smithy.APIError](err); ok {
		switch refusal.ErrorCode() {
		case "NoSuchBucket":
			e.Kind, e.Fix = cloud.NotFound, "make the bucket, or name another"
		case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch":
			e.Kind, e.Fix = cloud.Denied, "allow s3:PutObject and s3:AbortMultipartUpload on the bucket to the account of the master's pod"
		case "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException":
			e.Kind, e.Fix = cloud.Invalid, "set AWS_REGION to the bucket's region"
		}
	}
	return e
}
