package experiment_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/cloud/secret"
	motest "github.com/det-deploy/det-deploy/test/moto"
	"github.com/det-deploy/det-deploy/test/rest"
)

// A client never has the keys of a storage: the master downloads checkpoints for it.
func TestCheckpointsInABucketAreDownloadedThroughTheMaster(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	a := motest.Open(t)
	api, err := upload.Open(t.Context(), upload.Server{
		AccessKey: secret.Literal(a.AccessKey), SecretKey: secret.Literal(a.SecretKey), EndpointURL: a.Endpoint,
	})
	if err != nil {
		t.Fatal(err)
	}
	bucket := "checkpoints-" + a.ID
	if _, err := api.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	objects := func() []string {
		out, err := api.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &bucket})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, o := range out.Contents {
			names = append(names, *o.Key)
		}
		return names
	}
	l := openLab(t, options{})
	place := fmt.Sprintf("checkpoint_storage={type: s3, bucket: %s, prefix: runs, access_key: %s, secret_key: %s, endpoint_url: '%s', save_trial_latest: 1, save_trial_best: 0}",
		bucket, a.AccessKey, a.SecretKey, a.Endpoint)
	id := l.create("line", "single.yaml", place)
	l.await(id, "COMPLETED")
	all := l.awaitDeleted(id, 3)
	latest := all[3].UUID
	for _, name := range objects() {
		if !strings.HasPrefix(name, "runs/"+latest+"/") {
			t.Errorf("%s is left of a deleted checkpoint", name)
		}
	}
	if out := l.det.OK("", "experiment", "config", id); strings.Contains(out, a.SecretKey) || strings.Contains(out, a.AccessKey) {
		t.Errorf("the client is shown the storage's keys: %s", out)
	}
	to := filepath.Join(t.TempDir(), "files")
	l.det.OK("", "checkpoint", "download", latest, "-o", to, "--mode", "master")
	wantLine(t, to)
	l.det.OK("", "experiment", "delete", "--yes", id)
	l.Eventually("the experiment is deleted with its files", patience, func() error {
		if left := objects(); len(left) > 0 {
			return fmt.Errorf("%v are left; %s", left, l.history(id))
		}
		if out, err := l.det.Exec("", "experiment", "describe", id); err == nil {
			return errors.New(out)
		}
		return nil
	})
}
