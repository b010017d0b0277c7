package upload_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/cloud/secret"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string][2]string{
		"s3://b/k": {"b", "k"}, "s3://b/p/k.backup": {"b", "p/k.backup"},
		"s3://b": {}, "s3://b/": {}, "s3:///k": {}, "s3://b/p/": {}, "gs://b/k": {}, "/tmp/k": {},
	} {
		bucket, name, err := upload.Address(url)
		if got := [2]string{bucket, name}; got != want || (err == nil) != (want[0] != "") {
			t.Errorf("%s: got %q and %v, want %q", url, got, err, want)
		}
	}
}

func TestPutIsAtomic(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	c, err := upload.Open(t.Context(), upload.Server{
		AccessKey: secret.Literal(a.AccessKey), SecretKey: secret.Literal(a.SecretKey), EndpointURL: a.Endpoint,
	})
	if err != nil {
		t.Fatal(err)
	}
	bucket := "backups-" + a.ID
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: "eu-west-1"},
	}); err != nil {
		if _, err = c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
			t.Fatal(err)
		}
	}
	for name, size := range map[string]int{"empty": 0, "small": 12, "of several parts": 17<<20 + 3, "of whole parts": 32 << 20} {
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		if err := upload.Put(t.Context(), c, bucket, name, iotest.HalfReader(bytes.NewReader(want))); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		out, err := c.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: &name})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(out.Body)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %d bytes (%v), want the %d that were written", name, len(got), err, len(want))
		}
	}

	for name, cause := range map[string]error{"torn": errors.New("the store is gone"), "short": io.ErrUnexpectedEOF} {
		for _, before := range []int{5, 17 << 20, 33 << 20} {
			torn := io.MultiReader(bytes.NewReader(make([]byte, before)), iotest.ErrReader(cause))
			if err := upload.Put(t.Context(), c, bucket, name, torn); !errors.Is(err, cause) {
				t.Errorf("a source that fails after %d bytes: got %v, want %v", before, err, cause)
			}
			if _, err := c.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &bucket, Key: &name}); err == nil {
				t.Errorf("a source that fails after %d bytes: got an object, want none", before)
			}
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	source := io.MultiReader(bytes.NewReader(make([]byte, 33<<20)), readerFunc(func([]byte) (int, error) {
		stop()
		return 0, stopped.Err()
	}))
	if err := upload.Put(stopped, c, bucket, "stopped", source); !errors.Is(err, context.Canceled) {
		t.Errorf("an upload that is stopped: got %v", err)
	}
	left, err := c.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil || len(left.Uploads) > 0 {
		t.Errorf("got %d uploads left (%v), want none", len(left.Uploads), err)
	}
	if err := upload.Put(t.Context(), c, "none-"+a.ID, "x", strings.NewReader("")); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("a bucket that is not there: got %v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
