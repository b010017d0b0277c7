package awstest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// erase deletes a version, or adds a delete marker if versioning is enabled. A missing object
// counts as deleted.
func (s *site) erase(b *bucket, key, version *string) (marker bool, id string) {
	k := aws.ToString(key)
	if version != nil {
		b.objects = slices.DeleteFunc(slices.Clone(b.objects), func(o object) bool { return o.key == k && o.version == *version })
		return false, *version
	}
	if b.versioning == "" {
		b.objects = slices.DeleteFunc(slices.Clone(b.objects), func(o object) bool { return o.key == k })
		return false, ""
	}
	if v := s.store(b, object{key: k, marker: true, at: s.now()}); v != nil {
		return true, *v
	}
	return true, "null"
}

func (s *site) deleteObject(in *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	if o, ok := b.current(aws.ToString(in.Key)); in.IfMatch != nil && (!ok || o.etag != *in.IfMatch) {
		return nil, refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	}
	marker, id := s.erase(b, in.Key, in.VersionId)
	return &s3.DeleteObjectOutput{DeleteMarker: &marker, VersionId: &id}, nil
}

// deleteObjects accepts at most 1,000 keys.
func (s *site) deleteObjects(in *s3.DeleteObjectsInput) (*s3.DeleteObjectsOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	if n := len(in.Delete.Objects); n == 0 || n > 1000 {
		return nil, refuse(400, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema")
	}
	out := &s3.DeleteObjectsOutput{}
	for _, o := range in.Delete.Objects {
		if s.s3.foreign["undeletable/"+*o.Key] {
			out.Errors = append(out.Errors, types.Error{Key: o.Key, VersionId: o.VersionId, Code: aws.String("AccessDenied"), Message: aws.String("Access Denied")})
			continue
		}
		marker, id := s.erase(b, o.Key, o.VersionId)
		if !aws.ToBool(in.Delete.Quiet) {
			out.Deleted = append(out.Deleted, types.DeletedObject{Key: o.Key, VersionId: o.VersionId, DeleteMarker: &marker, DeleteMarkerVersionId: &id})
		}
	}
	return out, nil
}

// Undeletable makes DeleteObjects report that an object cannot be deleted, in its response and not
// as an error.
func (w *World) Undeletable(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s3.foreign["undeletable/"+key] = true
}
