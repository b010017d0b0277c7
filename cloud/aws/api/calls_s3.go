package api

// The actions of S3 are named for what is touched rather than for the calls.
func s3Looks() []Call {
	return []Call{
		looks("s3:HeadBucket", "s3:ListBucket"),
		looks("s3:ListBuckets", "s3:ListAllMyBuckets"),
		looks("s3:GetBucketTagging"),
		looks("s3:GetBucketEncryption", "s3:GetEncryptionConfiguration"),
		looks("s3:GetBucketVersioning"),
		looks("s3:GetPublicAccessBlock", "s3:GetBucketPublicAccessBlock"),
		looks("s3:GetBucketPolicy"),
		looks("s3:GetBucketLocation"),
		looks("s3:GetObject"),
		looks("s3:HeadObject", "s3:GetObject"),
		looks("s3:ListObjectsV2", "s3:ListBucket"),
		looks("s3:ListObjectVersions", "s3:ListBucketVersions"),
		looks("s3:ListMultipartUploads", "s3:ListBucketMultipartUploads"),
	}
}

func s3Changes() []Call {
	return []Call{
		// Tags in the creating call are allowed by s3:TagResource.
		alters("s3:CreateBucket", "s3:CreateBucket", "s3:TagResource"),
		alters("s3:PutBucketTagging"),
		alters("s3:PutBucketEncryption", "s3:PutEncryptionConfiguration"),
		alters("s3:PutBucketVersioning"),
		alters("s3:PutPublicAccessBlock", "s3:PutBucketPublicAccessBlock"),
		alters("s3:PutBucketPolicy"),
		alters("s3:DeleteBucket"),
		alters("s3:PutObject"),
		// A version is deleted by the same call with another action.
		alters("s3:DeleteObject", "s3:DeleteObject", "s3:DeleteObjectVersion"),
		alters("s3:DeleteObjects", "s3:DeleteObject", "s3:DeleteObjectVersion"),
		alters("s3:AbortMultipartUpload"),
	}
}
