package api

import "github.com/det-deploy/det-deploy/cloud/edge"

// The actions of S3 are named for what is touched rather than for the calls.
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

func s3Writes() edge.Calls {
	return edge.Calls{
		// Tags in the creating call are allowed by s3:TagResource.
		edge.Writes("s3:CreateBucket", "s3:CreateBucket", "s3:TagResource"),
		edge.Writes("s3:PutBucketTagging"),
		edge.Writes("s3:PutBucketEncryption", "s3:PutEncryptionConfiguration"),
		edge.Writes("s3:PutBucketVersioning"),
		edge.Writes("s3:PutPublicAccessBlock", "s3:PutBucketPublicAccessBlock"),
		edge.Writes("s3:PutBucketPolicy"),
		edge.Writes("s3:DeleteBucket"),
		edge.Writes("s3:PutObject"),
		// A version is deleted by the same call with another action.
		edge.Writes("s3:DeleteObject", "s3:DeleteObject", "s3:DeleteObjectVersion"),
		edge.Writes("s3:DeleteObjects", "s3:DeleteObject", "s3:DeleteObjectVersion"),
		edge.Writes("s3:AbortMultipartUpload"),
	}
}
