package infra

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

const (
	encryptionPath = "encryption"
	publicPath     = "public-access"
	tlsPath        = "plain-http"
	versioningPath = "versioning"
	on             = "on"
	off            = "off"
	refused        = "refused"
	allowed        = "allowed"
	// tlsStatement is the id of our statement among those the user may add.
	tlsStatement = "DetDeployTLSOnly"
)

// Update changes tags and settings.
func (b *Bucket) Update(ctx context.Context, drift []resource.Drift) error {
	if tags := tagged(drift); len(tags) > 0 {
		if err := b.In.retagBucket(ctx, b.id, tags); err != nil {
			return err
		}
	}
	for _, d := range drift {
		var err error
		switch d.Path {
		case encryptionPath:
			err = b.encrypt(ctx)
		case publicPath:
			err = b.close(ctx)
		case tlsPath:
			err = b.secure(ctx)
		case versioningPath:
			err = b.version(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Bucket) encryption(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: encryptionPath, Have: off, Want: on}
	out, err := b.In.Clients.S3.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: aws.String(b.id)})
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return d, nil
	case err != nil:
		return d, err
	}
	if c := out.ServerSideEncryptionConfiguration; c != nil && len(c.Rules) > 0 {
		d.Have = on // with S3's key, or with one that the account prefers
	}
	return d, nil
}

func (b *Bucket) encrypt(ctx context.Context) error {
	_, err := b.In.Clients.S3.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
		Bucket: aws.String(b.id),
		ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256},
		}}},
	})
	return err
}

func (b *Bucket) publicAccess(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: publicPath, Have: allowed, Want: refused}
	out, err := b.In.Clients.S3.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: aws.String(b.id)})
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return d, nil
	case err != nil:
		return d, err
	}
	if c := out.PublicAccessBlockConfiguration; c != nil && aws.ToBool(c.BlockPublicAcls) && aws.ToBool(c.BlockPublicPolicy) &&
		aws.ToBool(c.IgnorePublicAcls) && aws.ToBool(c.RestrictPublicBuckets) {
		d.Have = refused
	}
	return d, nil
}

func (b *Bucket) close(ctx context.Context) error {
	_, err := b.In.Clients.S3.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
		Bucket: aws.String(b.id),
		PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true),
			IgnorePublicAcls: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true),
		},
	})
	return err
}

func (b *Bucket) policy(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: tlsPath, Have: allowed, Want: refused}
	have, err := b.policyText(ctx)
	if err != nil {
		return d, err
	}
	if want, err := withTLSOnly(have, b.id); err == nil && sameDocument(have, want) {
		d.Have = refused
	}
	return d, nil
}

func (b *Bucket) policyText(ctx context.Context) (string, error) {
	out, err := b.In.Clients.S3.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: aws.String(b.id)})
	if err != nil {
		return "", gone(err)
	}
	return aws.ToString(out.Policy), nil
}

func (b *Bucket) secure(ctx context.Context) error {
	have, err := b.policyText(ctx)
	if err != nil {
		return err
	}
	want, err := withTLSOnly(have, b.id)
	if err != nil {
		return err
	}
	_, err = b.In.Clients.S3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: aws.String(b.id), Policy: aws.String(want)})
	return err
}

// withTLSOnly is policy with our statement in it, and whatever else it says.
func withTLSOnly(policy, bucket string) (string, error) {
	doc := map[string]any{"Version": "2012-10-17"}
	if policy != "" {
		if err := json.Unmarshal([]byte(policy), &doc); err != nil {
			return "", fmt.Errorf("read the policy of bucket %s: %w", bucket, err)
		}
	}
	var others []any
	all, ok := doc["Statement"].([]any)
	if !ok && doc["Statement"] != nil {
		all = []any{doc["Statement"]} // a single statement need not be a list
	}
	for _, s := range all {
		if m, ok := s.(map[string]any); !ok || m["Sid"] != tlsStatement {
			others = append(others, s)
		}
	}
	arn := "arn:aws:s3:::" + bucket
	doc["Statement"] = append(others, map[string]any{
		"Sid": tlsStatement, "Effect": "Deny", "Principal": "*", "Action": "s3:*",
		"Resource":  []any{arn, arn + "/*"},
		"Condition": map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}},
	})
	out, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("write the policy of bucket %s: %w", bucket, err)
	}
	return string(out), nil
}

func (b *Bucket) versioning(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: versioningPath, Have: off, Want: off}
	if b.Versioning {
		d.Want = on
	}
	out, err := b.In.Clients.S3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: aws.String(b.id)})
	if err != nil {
		return d, err
	}
	if out.Status == types.BucketVersioningStatusEnabled {
		d.Have = on
	}
	return d, nil
}

func (b *Bucket) version(ctx context.Context) error {
	status := types.BucketVersioningStatusSuspended
	if b.Versioning {
		status = types.BucketVersioningStatusEnabled
	}
	_, err := b.In.Clients.S3.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: aws.String(b.id), VersioningConfiguration: &types.VersioningConfiguration{Status: status},
	})
	return err
}
