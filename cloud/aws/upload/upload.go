// Package upload writes something of unknown length into a bucket that somebody gave:
// a backup that must not depend on the cluster it is of. It is used with whatever
// credentials the program finds or was given, and with servers other than Amazon's.
package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
)

const (
	// partSize is what is held in memory; S3 takes 10,000 parts, so 160 GB in all.
	partSize = 16 << 20
	// abortLimit bounds giving up what was begun.
	abortLimit = 30 * time.Second
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

// API is what uploading asks of S3.
type API interface {
	CreateMultipartUpload(ctx context.Context, in *s3.CreateMultipartUploadInput, o ...func(*s3.Options)) (*s3.CreateMultipartUploadOutput, error)
	UploadPart(ctx context.Context, in *s3.UploadPartInput, o ...func(*s3.Options)) (*s3.UploadPartOutput, error)
	CompleteMultipartUpload(ctx context.Context, in *s3.CompleteMultipartUploadInput, o ...func(*s3.Options)) (*s3.CompleteMultipartUploadOutput, error)
	AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, o ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error)
}

var _ API = (*s3.Client)(nil)

// Put writes an object from a stream, whole or not at all.
func Put(ctx context.Context, api API, bucket, name string, from io.Reader) error {
	begun, err := api.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &bucket, Key: &name})
	if err != nil {
		return refused(bucket, name, err)
	}
	u := upload{api: api, bucket: &bucket, name: &name, id: begun.UploadId}
	if err := u.copy(ctx, from); err != nil {
		return errors.Join(refused(bucket, name, err), u.abort(ctx))
	}
	return nil
}

// upload is one under way.
type upload struct {
	api              API
	bucket, name, id *string
	parts            []types.CompletedPart
}

func (u *upload) copy(ctx context.Context, from io.Reader) error {
	buffer := make([]byte, partSize)
	for n := int32(1); ; n++ {
		size, err := io.ReadFull(from, buffer)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if size > 0 || n == 1 { // an empty object has one empty part
			if err := u.part(ctx, n, buffer[:size]); err != nil {
				return err
			}
		}
		if last {
			break
		}
	}
	_, err := u.api.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: u.bucket, Key: u.name, UploadId: u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	})
	return err
}

func (u *upload) part(ctx context.Context, n int32, data []byte) error {
	out, err := u.api.UploadPart(ctx, &s3.UploadPartInput{Bucket: u.bucket, Key: u.name, UploadId: u.id, PartNumber: &n, Body: bytes.NewReader(data)})
	if err != nil {
		return err
	}
	u.parts = append(u.parts, types.CompletedPart{ETag: out.ETag, PartNumber: aws.Int32(n), ChecksumCRC32: out.ChecksumCRC32})
	return nil
}

func (u *upload) abort(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortLimit)
	defer cancel()
	_, err := u.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: u.bucket, Key: u.name, UploadId: u.id})
	if err != nil {
		return fmt.Errorf("give up the upload that was begun: %w", err)
	}
	return nil
}

// refused says what the bucket's refusal means.
func refused(bucket, name string, err error) error {
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
