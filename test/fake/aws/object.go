package awstest

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// object is one version of an object, or a delete marker.
type object struct {
	key, version string
	marker       bool
	body         []byte
	etag         string
	kind         *string // content type
	meta         map[string]string
	at           time.Time
}

// latest returns the index of the newest version of a key, or -1 if the key has no versions.
func (b *bucket) latest(key string) int {
	for i := len(b.objects) - 1; i >= 0; i-- {
		if b.objects[i].key == key {
			return i
		}
	}
	return -1
}

// current returns the current version of a key.
func (b *bucket) current(key string) (object, bool) {
	i := b.latest(key)
	if i < 0 || b.objects[i].marker {
		return object{}, false
	}
	return b.objects[i], true
}

// putObject implements If-Match and If-None-Match.
func (s *site) putObject(in *s3.PutObjectInput) (*s3.PutObjectOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	key := aws.ToString(in.Key)
	old, exists := b.current(key)
	switch {
	case aws.ToString(in.IfNoneMatch) == "*" && exists:
		return nil, refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	case in.IfMatch != nil && !exists:
		return nil, refuse(404, "NoSuchKey", "The specified key does not exist.")
	case in.IfMatch != nil && *in.IfMatch != old.etag:
		return nil, refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	}
	var body []byte
	if in.Body != nil {
		if body, err = io.ReadAll(in.Body); err != nil {
			return nil, err
		}
	}
	sum := md5.Sum(body) // the ETag of S3
	o := object{key: key, body: body, etag: `"` + hex.EncodeToString(sum[:]) + `"`, kind: in.ContentType, meta: maps.Clone(in.Metadata), at: s.now()}
	return &s3.PutObjectOutput{ETag: &o.etag, VersionId: s.store(b, o)}, nil
}

// store adds a version, or replaces the only version if versioning is disabled.
func (s *site) store(b *bucket, o object) *string {
	var version *string
	if b.versioning == "Enabled" {
		s.serial++
		o.version = "version-" + number(s.serial)
		version = &o.version
	} else {
		o.version = "null"
		b.objects = slices.DeleteFunc(slices.Clone(b.objects), func(p object) bool { return p.key == o.key && p.version == "null" })
	}
	b.objects = append(slices.Clone(b.objects), o)
	return version
}

func (s *site) objectOf(name, key, version *string) (object, error) {
	b, err := s.bucketOf(name)
	if err != nil {
		return object{}, err
	}
	if version != nil {
		i := slices.IndexFunc(b.objects, func(o object) bool { return o.key == aws.ToString(key) && o.version == *version && !o.marker })
		if i < 0 {
			return object{}, refuse(404, "NoSuchVersion", "The specified version does not exist.")
		}
		return b.objects[i], nil
	}
	o, ok := b.current(aws.ToString(key))
	if !ok {
		return object{}, refuse(404, "NoSuchKey", "The specified key does not exist.")
	}
	return o, nil
}

func (s *site) getObject(in *s3.GetObjectInput) (*s3.GetObjectOutput, error) {
	o, err := s.objectOf(in.Bucket, in.Key, in.VersionId)
	if err != nil {
		return nil, err
	}
	if err := unchanged(in.IfMatch, in.IfNoneMatch, o.etag); err != nil {
		return nil, err
	}
	return &s3.GetObjectOutput{
		Body: io.NopCloser(bytes.NewReader(o.body)), ContentLength: aws.Int64(int64(len(o.body))), ETag: &o.etag,
		ContentType: o.kind, Metadata: maps.Clone(o.meta), LastModified: &o.at, VersionId: &o.version,
	}, nil
}

func (s *site) headObject(in *s3.HeadObjectInput) (*s3.HeadObjectOutput, error) {
	o, err := s.objectOf(in.Bucket, in.Key, in.VersionId)
	if err != nil {
		if code := codeOf(err); code == "NoSuchKey" || code == "NoSuchBucket" || code == "NoSuchVersion" {
			return nil, refuse(404, "NotFound", "Not Found")
		}
		return nil, err
	}
	if err := unchanged(in.IfMatch, in.IfNoneMatch, o.etag); err != nil {
		return nil, err
	}
	return &s3.HeadObjectOutput{
		ContentLength: aws.Int64(int64(len(o.body))), ETag: &o.etag, ContentType: o.kind, Metadata: maps.Clone(o.meta), LastModified: &o.at, VersionId: &o.version,
	}, nil
}

func unchanged(match, noneMatch *string, etag string) error {
	if match != nil && *match != etag {
		return refuse(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	}
	if noneMatch != nil && *noneMatch == etag {
		return refuse(304, "NotModified", "Not Modified")
	}
	return nil
}
