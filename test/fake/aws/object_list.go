package awstest

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// keys returns the visible keys of a bucket in order.
func (b *bucket) keys(prefix string) []string {
	var out []string
	for _, o := range b.objects {
		if strings.HasPrefix(o.key, prefix) {
			out = append(out, o.key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (s *site) listObjects(in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	out := &s3.ListObjectsV2Output{Name: in.Bucket, Prefix: in.Prefix}
	var all []types.Object
	for _, k := range b.keys(aws.ToString(in.Prefix)) {
		o, ok := b.current(k)
		if !ok || k <= aws.ToString(in.StartAfter) {
			continue
		}
		rest := strings.TrimPrefix(k, aws.ToString(in.Prefix))
		if dir, _, found := strings.Cut(rest, aws.ToString(in.Delimiter)); found && aws.ToString(in.Delimiter) != "" {
			out.CommonPrefixes = append(out.CommonPrefixes, types.CommonPrefix{Prefix: aws.String(aws.ToString(in.Prefix) + dir + *in.Delimiter)})
			continue
		}
		all = append(all, types.Object{Key: aws.String(k), ETag: aws.String(o.etag), Size: aws.Int64(int64(len(o.body))), LastModified: aws.Time(o.at)})
	}
	out.CommonPrefixes = slices.CompactFunc(out.CommonPrefixes, func(a, b types.CommonPrefix) bool { return *a.Prefix == *b.Prefix })
	out.Contents, out.NextContinuationToken, err = page(s, all, in.ContinuationToken, in.MaxKeys)
	out.IsTruncated, out.KeyCount = aws.Bool(out.NextContinuationToken != nil), aws.Int32(int32(len(out.Contents)))
	return out, err
}

// listVersions returns versions and delete markers, the newest of each key first. A page may end
// between two versions of a key, so it uses both markers.
func (s *site) listVersions(in *s3.ListObjectVersionsInput) (*s3.ListObjectVersionsOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	var all []object
	for _, k := range b.keys(aws.ToString(in.Prefix)) {
		for _, o := range slices.Backward(b.objects) {
			if o.key == k {
				all = append(all, o)
			}
		}
	}
	from := 0
	if in.KeyMarker != nil {
		from = 1 + slices.IndexFunc(all, func(o object) bool { return o.key == *in.KeyMarker && o.version == aws.ToString(in.VersionIdMarker) })
		if from == 0 { // the version of the marker was deleted in the meantime
			from = max(0, slices.IndexFunc(all, func(o object) bool { return o.key >= *in.KeyMarker }))
		}
	}
	to := min(from+s.opt.Page, len(all))
	out := &s3.ListObjectVersionsOutput{Name: in.Bucket, IsTruncated: aws.Bool(to < len(all))}
	if to < len(all) {
		out.NextKeyMarker, out.NextVersionIdMarker = aws.String(all[to-1].key), aws.String(all[to-1].version)
	}
	for _, o := range all[from:to] {
		newest := aws.Bool(b.objects[b.latest(o.key)].version == o.version)
		if o.marker {
			out.DeleteMarkers = append(out.DeleteMarkers, types.DeleteMarkerEntry{Key: aws.String(o.key), VersionId: aws.String(o.version), IsLatest: newest})
			continue
		}
		out.Versions = append(out.Versions, types.ObjectVersion{Key: aws.String(o.key), VersionId: aws.String(o.version), IsLatest: newest, ETag: aws.String(o.etag), Size: aws.Int64(int64(len(o.body)))})
	}
	return out, nil
}

// GiveUpload adds an incomplete multipart upload, whose parts are billed.
func (w *World) GiveUpload(bucketName, key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if b, ok := w.s3.buckets.get(bucketName); ok {
		w.serial++
		b.uploads = append(b.uploads, types.MultipartUpload{Key: &key, UploadId: aws.String("upload-" + number(w.serial))})
	}
}

func (s *site) listUploads(in *s3.ListMultipartUploadsInput) (*s3.ListMultipartUploadsOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(slices.Clone(b.uploads), func(u types.MultipartUpload) bool { return !strings.HasPrefix(*u.Key, aws.ToString(in.Prefix)) })
	from := 0
	if in.UploadIdMarker != nil {
		from = 1 + slices.IndexFunc(all, func(u types.MultipartUpload) bool { return *u.UploadId == *in.UploadIdMarker })
	}
	to := min(from+s.opt.Page, len(all))
	out := &s3.ListMultipartUploadsOutput{Bucket: in.Bucket, Uploads: all[from:to], IsTruncated: aws.Bool(to < len(all))}
	if to < len(all) {
		out.NextKeyMarker, out.NextUploadIdMarker = all[to-1].Key, all[to-1].UploadId
	}
	return out, nil
}

func (s *site) abortUpload(in *s3.AbortMultipartUploadInput) (*s3.AbortMultipartUploadOutput, error) {
	b, err := s.bucketOf(in.Bucket)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(b.uploads, func(u types.MultipartUpload) bool { return *u.UploadId == aws.ToString(in.UploadId) })
	if i < 0 {
		return nil, refuse(404, "NoSuchUpload", "The specified multipart upload does not exist.")
	}
	b.uploads = slices.Delete(slices.Clone(b.uploads), i, i+1)
	return &s3.AbortMultipartUploadOutput{}, nil
}
