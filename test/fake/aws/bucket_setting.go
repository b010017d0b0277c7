package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

func (s *site) getBucketLocation(in *s3.GetBucketLocationInput) (*s3.GetBucketLocationOutput, error) {
	b, ok := s.s3.buckets.get(aws.ToString(in.Bucket))
	if !ok {
		return nil, refuse(404, "NoSuchBucket", "The specified bucket does not exist")
	}
	if b.region == "us-east-1" { // its location constraint is empty
		return &s3.GetBucketLocationOutput{}, nil
	}
	return &s3.GetBucketLocationOutput{LocationConstraint: types.BucketLocationConstraint(b.region)}, nil
}

func (s *site) getBucketTagging(in *s3.GetBucketTaggingInput) (*s3.GetBucketTaggingOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	if len(b.tags) == 0 {
		return nil, refuse(404, "NoSuchTagSet", "The TagSet does not exist")
	}
	return &s3.GetBucketTaggingOutput{TagSet: slices.Clone(b.tags)}, nil
}

// putBucketTagging replaces all tags.
func (s *site) putBucketTagging(in *s3.PutBucketTaggingInput) (*s3.PutBucketTaggingOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	b.tags = slices.Clone(in.Tagging.TagSet)
	return &s3.PutBucketTaggingOutput{}, nil
}

// getBucketEncryption returns the encryption, which every bucket has since 2023.
func (s *site) getBucketEncryption(in *s3.GetBucketEncryptionInput) (*s3.GetBucketEncryptionOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	c := b.encryption
	if c == nil {
		c = &types.ServerSideEncryptionConfiguration{Rules: []types.ServerSideEncryptionRule{{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryptionAes256},
		}}}
	}
	return &s3.GetBucketEncryptionOutput{ServerSideEncryptionConfiguration: c}, nil
}

func (s *site) putBucketEncryption(in *s3.PutBucketEncryptionInput) (*s3.PutBucketEncryptionOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	b.encryption = in.ServerSideEncryptionConfiguration
	return &s3.PutBucketEncryptionOutput{}, nil
}

func (s *site) getBucketVersioning(in *s3.GetBucketVersioningInput) (*s3.GetBucketVersioningOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	return &s3.GetBucketVersioningOutput{Status: b.versioning}, nil
}

func (s *site) putBucketVersioning(in *s3.PutBucketVersioningInput) (*s3.PutBucketVersioningOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	b.versioning = in.VersioningConfiguration.Status
	return &s3.PutBucketVersioningOutput{}, nil
}

// getPublicAccessBlock returns the access block, which every new bucket has since 2023.
func (s *site) getPublicAccessBlock(in *s3.GetPublicAccessBlockInput) (*s3.GetPublicAccessBlockOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	c := b.access
	if c == nil {
		yes := aws.Bool(true)
		c = &types.PublicAccessBlockConfiguration{BlockPublicAcls: yes, BlockPublicPolicy: yes, IgnorePublicAcls: yes, RestrictPublicBuckets: yes}
	}
	return &s3.GetPublicAccessBlockOutput{PublicAccessBlockConfiguration: c}, nil
}

func (s *site) putPublicAccessBlock(in *s3.PutPublicAccessBlockInput) (*s3.PutPublicAccessBlockOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	b.access = in.PublicAccessBlockConfiguration
	return &s3.PutPublicAccessBlockOutput{}, nil
}

func (s *site) getBucketPolicy(in *s3.GetBucketPolicyInput) (*s3.GetBucketPolicyOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	if b.policy == "" {
		return nil, refuse(404, "NoSuchBucketPolicy", "The bucket policy does not exist")
	}
	return &s3.GetBucketPolicyOutput{Policy: &b.policy}, nil
}

func (s *site) putBucketPolicy(in *s3.PutBucketPolicyInput) (*s3.PutBucketPolicyOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	if malformed(aws.ToString(in.Policy)) {
		return nil, refuse(400, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
	}
	b.policy = *in.Policy
	return &s3.PutBucketPolicyOutput{}, nil
}
