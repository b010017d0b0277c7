package storage

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/infra"
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
)

// Update corrects tags and settings.
func (b *Bucket) Update(ctx context.Context, drift []resource.Drift) error {
	if tags := infra.WantedMarks(drift); len(tags) > 0 {
		if err := retagBucket(ctx, b.In, b.Identity(), tags); err != nil {
			return err
		}
	}
	for _, d := range drift {
		var err error
		switch d.Path {
		case encryptionPath:
			err = b.enableEncryption(ctx)
		case publicPath:
			err = b.blockPublicAccess(ctx)
		case tlsPath:
			err = b.tlsOnly().Put(ctx)
		case versioningPath:
			err = b.setVersioning(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Bucket) encryptionDrift(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: encryptionPath, Have: off, Want: on}
	out, err := b.In.Clients.S3.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: aws.String(b.Identity())})
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return d, nil
	case err != nil:
		return d, err
	}
	if c := out.ServerSideEncryptionConfiguration; c != nil && len(c.Rules) > 0 {
		d.Have = on // with S3's key or a key of the account
	}
	return d, nil
}

func (b *Bucket) enableEncryption(ctx context.Context) error {
	_, err := b.In.Clients.S3.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
		Bucket: aws.String(b.Identity()),
		ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256},
		}}},
	})
	return err
}

func (b *Bucket) publicAccess(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: publicPath, Have: allowed, Want: refused}
	out, err := b.In.Clients.S3.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: aws.String(b.Identity())})
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

func (b *Bucket) blockPublicAccess(ctx context.Context) error {
	_, err := b.In.Clients.S3.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
		Bucket: aws.String(b.Identity()),
		PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true),
			IgnorePublicAcls: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true),
		},
	})
	return err
}

func (b *Bucket) tlsPolicyDrift(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: tlsPath, Have: allowed, Want: refused}
	has, whole, err := b.tlsOnly().Look(ctx)
	if has && whole {
		d.Have = refused
	}
	return d, err
}

func (b *Bucket) tlsOnly() TLSOnly { return TLSOnly{S3: b.In.Clients.S3, Bucket: b.Identity()} }

func (b *Bucket) versioningDrift(ctx context.Context) (resource.Drift, error) {
	d := resource.Drift{Path: versioningPath, Have: off, Want: off}
	if b.Versioning {
		d.Want = on
	}
	out, err := b.In.Clients.S3.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: aws.String(b.Identity())})
	if err != nil {
		return d, err
	}
	if out.Status == types.BucketVersioningStatusEnabled {
		d.Have = on
	}
	return d, nil
}

func (b *Bucket) setVersioning(ctx context.Context) error {
	status := types.BucketVersioningStatusSuspended
	if b.Versioning {
		status = types.BucketVersioningStatusEnabled
	}
	_, err := b.In.Clients.S3.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
		Bucket: aws.String(b.Identity()), VersioningConfiguration: &types.VersioningConfiguration{Status: status},
	})
	return err
}
