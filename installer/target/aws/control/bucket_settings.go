package control

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// isPrivate reports whether the bucket is known to block public access.
func (b Bucket) isPrivate(ctx context.Context) bool {
	out, err := b.S3.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account})
	if err != nil || out.PublicAccessBlockConfiguration == nil {
		return false
	}
	c := out.PublicAccessBlockConfiguration
	return aws.ToBool(c.BlockPublicAcls) && aws.ToBool(c.BlockPublicPolicy) && aws.ToBool(c.IgnorePublicAcls) && aws.ToBool(c.RestrictPublicBuckets)
}

func (b Bucket) makePrivate(ctx context.Context) error {
	_, err := b.S3.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
		Bucket: &b.Name, ExpectedBucketOwner: &b.Account,
		PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
			BlockPublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true),
			IgnorePublicAcls: aws.Bool(true), RestrictPublicBuckets: aws.Bool(true),
		},
	})
	return err
}

// isEncrypted reports whether the bucket is known to encrypt new objects, with any key.
func (b Bucket) isEncrypted(ctx context.Context) bool {
	out, err := b.S3.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: &b.Name, ExpectedBucketOwner: &b.Account})
	return err == nil && out.ServerSideEncryptionConfiguration != nil && len(out.ServerSideEncryptionConfiguration.Rules) > 0
}

func (b Bucket) encrypt(ctx context.Context) error {
	_, err := b.S3.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
		Bucket: &b.Name, ExpectedBucketOwner: &b.Account,
		ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256},
		}}},
	})
	return err
}
