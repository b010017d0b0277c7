package awstest

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// s3State holds the buckets of the account. Bucket names are global.
type s3State struct {
	buckets *table[bucket]
	foreign map[string]bool // buckets of other accounts
}

type bucket struct {
	name, region string
	tags         []types.Tag
	encryption   *types.ServerSideEncryptionConfiguration
	versioning   types.BucketVersioningStatus
	access       *types.PublicAccessBlockConfiguration
	policy       string
	objects      []object // all versions, oldest first
	uploads      []types.MultipartUpload
}

func newS3(w *World) s3State {
	return s3State{buckets: &table[bucket]{w: w}, foreign: make(map[string]bool)}
}

// GiveForeignBucket adds a bucket of another account.
func (w *World) GiveForeignBucket(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s3.foreign[name] = true
}

// bucketOf returns a bucket as seen from the site's region.
func (s *site) bucketOf(name *string) (*bucket, error) {
	n := aws.ToString(name)
	if s.s3.foreign[n] {
		return nil, refuse(403, "AccessDenied", "Access Denied")
	}
	b, ok := s.s3.buckets.get(n)
	if !ok {
		return nil, refuse(404, "NoSuchBucket", "The specified bucket does not exist")
	}
	if b.region != s.region {
		return nil, refuse(301, "PermanentRedirect", "The bucket you are attempting to access must be addressed using the specified endpoint.")
	}
	return b, nil
}

func (s *site) createBucket(in *s3.CreateBucketInput) (*s3.CreateBucketOutput, error) {
	name, at := aws.ToString(in.Bucket), ""
	var tags []types.Tag
	if c := in.CreateBucketConfiguration; c != nil {
		at, tags = string(c.LocationConstraint), slices.Clone(c.Tags)
	}
	switch {
	case len(name) < 3 || len(name) > 63 || strings.ToLower(name) != name || strings.Contains(name, "_"):
		return nil, refuse(400, "InvalidBucketName", "The specified bucket is not valid.")
	case at == "" && s.region != "us-east-1":
		return nil, refuse(400, "IllegalLocationConstraintException", "The unspecified location constraint is incompatible for the region specific endpoint this request was sent to.")
	case at != "" && at != s.region:
		return nil, refuse(400, "IllegalLocationConstraintException", "The "+at+" location constraint is incompatible for the region specific endpoint this request was sent to.")
	case s.s3.foreign[name]:
		return nil, refuse(409, "BucketAlreadyExists", "The requested bucket name is not available.")
	}
	if old, ok := s.s3.buckets.get(name); ok {
		if s.region == "us-east-1" && old.region == s.region {
			return &s3.CreateBucketOutput{Location: aws.String("/" + name)}, nil // us-east-1 returns success for an existing bucket of the account
		}
		return nil, refuse(409, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.")
	}
	if s.s3.buckets.wasDeletedWithin(name, s.opt.Reuse) {
		return nil, refuse(409, "OperationAborted", "A conflicting conditional operation is currently in progress against this resource. Please try again.")
	}
	s.s3.buckets.add(name, bucket{name: name, region: s.region, tags: tags})
	return &s3.CreateBucketOutput{Location: aws.String("/" + name)}, nil
}

func (s *site) headBucket(in *s3.HeadBucketInput) (*s3.HeadBucketOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	switch codeOf(err) {
	case "":
		return &s3.HeadBucketOutput{BucketRegion: &b.region}, nil
	case "AccessDenied":
		return nil, refuse(403, "Forbidden", "Forbidden")
	case "NoSuchBucket":
		return nil, refuse(404, "NotFound", "Not Found")
	}
	return nil, refuse(301, "MovedPermanently", "Moved Permanently")
}

// listBuckets returns the buckets of all regions.
func (s *site) listBuckets(in *s3.ListBucketsInput) (*s3.ListBucketsOutput, error) {
	var all []types.Bucket
	for _, b := range s.s3.buckets.listed() {
		if strings.HasPrefix(b.name, aws.ToString(in.Prefix)) && (in.BucketRegion == nil || *in.BucketRegion == b.region) {
			all = append(all, types.Bucket{Name: aws.String(b.name), BucketRegion: aws.String(b.region)})
		}
	}
	slices.SortFunc(all, func(a, b types.Bucket) int { return strings.Compare(*a.Name, *b.Name) })
	if in.MaxBuckets == nil { // S3 pages only on request
		return &s3.ListBucketsOutput{Buckets: all}, nil
	}
	some, next, err := page(s, all, in.ContinuationToken, in.MaxBuckets)
	return &s3.ListBucketsOutput{Buckets: some, ContinuationToken: next}, err
}

func (s *site) deleteBucket(in *s3.DeleteBucketInput) (*s3.DeleteBucketOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	if len(b.objects) > 0 {
		return nil, refuse(409, "BucketNotEmpty", "The bucket you tried to delete is not empty. You must delete all versions in the bucket.")
	}
	s.s3.buckets.remove(b.name)
	return &s3.DeleteBucketOutput{}, nil
}
