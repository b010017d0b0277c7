package parts

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	gcs "google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	gcpapi "github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	"github.com/det-deploy/det-deploy/master/config"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	googletest "github.com/det-deploy/det-deploy/test/google"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// checkSource reads from a storage that contains runs/u/weights and not runs/u/none.
func checkSource(t *testing.T, src storage.Source, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	body, size, err := src.Open(t.Context(), "u/weights", 0)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(body)
	if err != nil || string(data) != "1234" || size != 4 {
		t.Errorf("got %q of %d bytes, error %v", data, size, err)
	}
	if err := body.Close(); err != nil {
		t.Error(err)
	}
	rest, size, err := src.Open(t.Context(), "u/weights", 3)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(rest); err != nil || string(data) != "4" || size != 4 || rest.Close() != nil {
		t.Errorf("from byte 3: got %q of %d bytes, error %v", data, size, err)
	}
	if _, _, err := src.Open(t.Context(), "u/none", 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v for an object that does not exist, want fs.ErrNotExist", err)
	}
	if body, _, err := src.Open(t.Context(), "u/weights", 0); err != nil || body.Close() != nil { // the body is not read
		t.Errorf("got %v", err)
	}
	if err := src.Close(); err != nil {
		t.Error(err)
	}
}

func TestCheckpointsInS3AreRead(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	keys := upload.Server{AccessKey: secret.Literal(a.AccessKey), SecretKey: secret.Literal(a.SecretKey), EndpointURL: a.Endpoint}
	c, err := upload.Open(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	bucket, key := "checkpoints-"+a.ID, "runs/u/weights"
	if _, err := c.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("1234")}); err != nil {
		t.Fatal(err)
	}
	place := config.CheckpointStorage{S3: &config.S3Storage{
		Bucket: bucket, Prefix: "/runs/", AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, EndpointURL: keys.EndpointURL,
	}}
	src, err := checkpointBuckets()["s3"](t.Context(), place)
	checkSource(t, src, err)
}

// googleClients returns clients that send their requests through client.
func googleClients(t *testing.T, client *http.Client) gcpapi.Clients {
	t.Helper()
	c, err := gcpapi.New(t.Context(), client, gcpapi.Options{Project: gcptest.Project, AnyRegion: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCheckpointsInCloudStorageAreRead(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(*testing.T) *http.Client{
		"in memory":       func(t *testing.T) *http.Client { return gcptest.New(t, gcptest.Options{}).Client("") },
		"fake-gcs-server": func(t *testing.T) *http.Client { return googletest.FakeGCS(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := googleClients(t, client(t))
			if err := gcpapi.Send(t.Context(), c.Storage.Buckets.Insert(c.Project, &gcs.Bucket{Name: "ckpts"})); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Upload(t.Context(), &gcs.Object{Bucket: "ckpts", Name: "runs/u/weights"}, strings.NewReader("1234"), nil); err != nil {
				t.Fatal(err)
			}
			google := &googleBuckets{open: func(context.Context) (gcpapi.Clients, error) { return c, nil }}
			src, err := google.openBucket(t.Context(), config.CheckpointStorage{GCS: &config.GCSStorage{Bucket: "ckpts", Prefix: "runs"}})
			checkSource(t, src, err)
		})
	}
}
