package api

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// S3 is the part of the S3 API that det-deploy uses.
type S3 interface {
	// Read-only calls.
	HeadBucket(ctx context.Context, in *s3.HeadBucketInput, o ...func(*s3.Options)) (*s3.HeadBucketOutput, error)
	ListBuckets(ctx context.Context, in *s3.ListBucketsInput, o ...func(*s3.Options)) (*s3.ListBucketsOutput, error)
	GetBucketTagging(ctx context.Context, in *s3.GetBucketTaggingInput, o ...func(*s3.Options)) (*s3.GetBucketTaggingOutput, error)
	GetBucketEncryption(ctx context.Context, in *s3.GetBucketEncryptionInput, o ...func(*s3.Options)) (*s3.GetBucketEncryptionOutput, error)
	GetBucketVersioning(ctx context.Context, in *s3.GetBucketVersioningInput, o ...func(*s3.Options)) (*s3.GetBucketVersioningOutput, error)
	GetPublicAccessBlock(ctx context.Context, in *s3.GetPublicAccessBlockInput, o ...func(*s3.Options)) (*s3.GetPublicAccessBlockOutput, error)
	GetBucketPolicy(ctx context.Context, in *s3.GetBucketPolicyInput, o ...func(*s3.Options)) (*s3.GetBucketPolicyOutput, error)
	GetBucketLocation(ctx context.Context, in *s3.GetBucketLocationInput, o ...func(*s3.Options)) (*s3.GetBucketLocationOutput, error)
	GetObject(ctx context.Context, in *s3.GetObjectInput, o ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	HeadObject(ctx context.Context, in *s3.HeadObjectInput, o ...func(*s3.Options)) (*s3.HeadObjectOutput, error)
	ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, o ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	ListObjectVersions(ctx context.Context, in *s3.ListObjectVersionsInput, o ...func(*s3.Options)) (*s3.ListObjectVersionsOutput, error)
	ListMultipartUploads(ctx context.Context, in *s3.ListMultipartUploadsInput, o ...func(*s3.Options)) (*s3.ListMultipartUploadsOutput, error)

	// Modifying calls, which pass the gate.
	CreateBucket(ctx context.Context, in *s3.CreateBucketInput, o ...func(*s3.Options)) (*s3.CreateBucketOutput, error)
	PutBucketTagging(ctx context.Context, in *s3.PutBucketTaggingInput, o ...func(*s3.Options)) (*s3.PutBucketTaggingOutput, error)
	PutBucketEncryption(ctx context.Context, in *s3.PutBucketEncryptionInput, o ...func(*s3.Options)) (*s3.PutBucketEncryptionOutput, error)
	PutBucketVersioning(ctx context.Context, in *s3.PutBucketVersioningInput, o ...func(*s3.Options)) (*s3.PutBucketVersioningOutput, error)
	PutPublicAccessBlock(ctx context.Context, in *s3.PutPublicAccessBlockInput, o ...func(*s3.Options)) (*s3.PutPublicAccessBlockOutput, error)
	PutBucketPolicy(ctx context.Context, in *s3.PutBucketPolicyInput, o ...func(*s3.Options)) (*s3.PutBucketPolicyOutput, error)
	DeleteBucket(ctx context.Context, in *s3.DeleteBucketInput, o ...func(*s3.Options)) (*s3.DeleteBucketOutput, error)
	PutObject(ctx context.Context, in *s3.PutObjectInput, o ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	DeleteObject(ctx context.Context, in *s3.DeleteObjectInput, o ...func(*s3.Options)) (*s3.DeleteObjectOutput, error)
	DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput, o ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
	AbortMultipartUpload(ctx context.Context, in *s3.AbortMultipartUploadInput, o ...func(*s3.Options)) (*s3.AbortMultipartUploadOutput, error)
}

var _ S3 = (*s3.Client)(nil)

// S3 actions are named after the affected resource and not after the API call.
func s3Reads() edge.Calls {
	return edge.Calls{
		edge.Reads("s3:HeadBucket", "s3:ListBucket"),
		edge.Reads("s3:ListBuckets", "s3:ListAllMyBuckets"),
		edge.Reads("s3:GetBucketTagging"),
		edge.Reads("s3:GetBucketEncryption", "s3:GetEncryptionConfiguration"),
		edge.Reads("s3:GetBucketVersioning"),
		edge.Reads("s3:GetPublicAccessBlock", "s3:GetBucketPublicAccessBlock"),
		edge.Reads("s3:GetBucketPolicy"),
		edge.Reads("s3:GetBucketLocation"),
		edge.Reads("s3:GetObject"),
		edge.Reads("s3:HeadObject", "s3:GetObject"),
		edge.Reads("s3:ListObjectsV2", "s3:ListBucket"),
		edge.Reads("s3:ListObjectVersions", "s3:ListBucketVersions"),
		edge.Reads("s3:ListMultipartUploads", "s3:ListBucketMultipartUploads"),
	}
}

// isConditional reports whether a call has its effect only on a certain version of an object, so that
// a second one fails after the first.
func isConditional(params any) bool {
	switch in := params.(type) {
	case *s3.PutObjectInput:
		return in.IfMatch != nil || in.IfNoneMatch != nil
	case *s3.DeleteObjectInput:
		return in.IfMatch != nil
	}
	return false
}

func s3Writes() edge.Calls {
	return edge.Calls{
		// Setting tags in CreateBucket requires s3:TagResource.
		edge.Writes("s3:CreateBucket", "s3:CreateBucket", "s3:TagResource"),
		edge.Repeats("s3:PutBucketTagging"),
		edge.Repeats("s3:PutBucketEncryption", "s3:PutEncryptionConfiguration"),
		edge.Repeats("s3:PutBucketVersioning"),
		edge.Repeats("s3:PutPublicAccessBlock", "s3:PutBucketPublicAccessBlock"),
		edge.Repeats("s3:PutBucketPolicy"),
		edge.Writes("s3:DeleteBucket"),
		edge.Repeats("s3:PutObject"),
		// Deleting an object version uses the same call and requires another action.
		edge.Repeats("s3:DeleteObject", "s3:DeleteObject", "s3:DeleteObjectVersion"),
		edge.Repeats("s3:DeleteObjects", "s3:DeleteObject", "s3:DeleteObjectVersion"),
		edge.Repeats("s3:AbortMultipartUpload"),
	}
}
