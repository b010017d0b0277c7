package experiment_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud/aws/upload"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/faultproxy"
	motest "github.com/det-deploy/det-deploy/test/moto"
	"github.com/det-deploy/det-deploy/test/rest"
)

// quick configures a trial that ends immediately if it can save a checkpoint.
var quick = []string{"hyperparameters.epochs=2", "hyperparameters.validate_every=1"}

// TestStorageFailureIsReported trains with a storage in which checkpoints cannot be saved, and
// deletes checkpoints that cannot be deleted.
func TestStorageFailureIsReported(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("mounts a small disk; run as root")
	}
	full, gone := sharedDir(t), filepath.Join(sharedDir(t), "gone")
	clustertest.SmallDisk(t, full)
	if err := os.Chmod(full, 0o1777); err != nil { //nolint:gosec // tasks of every user write there
		t.Fatal(err)
	}
	clustertest.Fill(filepath.Join(full, "ballast"))
	l := openLab(t, options{slots: 4, master: fmt.Sprintf("task_policy:\n  host_paths: [%s, %s]\n", full, gone)})
	bucket, cloud := openBucket(t)
	refuse := func(action, body string) func() {
		return cloud.Add(faultproxy.Rule{Service: "s3", Action: regexp.MustCompile(action), Body: regexp.MustCompile(body), Effect: faultproxy.Refuse(http.StatusForbidden, "AccessDenied", "Access Denied")})
	}

	deleting := l.create("line", "single.yaml", append(slow[:1:1], "hyperparameters.epochs=3", "hyperparameters.validate_every=1", bucket)...)
	l.awaitEpochs(deleting, 2)
	allow := refuse("DeleteObject", "")
	l.await(deleting, "COMPLETED")
	stop := refuse("PutObject", "")
	forbidden := l.create("line", "single.yaml", append(quick, bucket)...)
	for _, failing := range []struct{ id, says string }{
		{forbidden, "Access Denied"},
		{l.create("line", "single.yaml", append(quick, "checkpoint_storage={type: shared_fs, host_path: "+full+"}")...), "No space left on device"},
		{l.create("line", "single.yaml", append(quick, "checkpoint_storage={type: shared_fs, host_path: "+gone+"}")...), gone},
	} {
		e := l.await(failing.id, "ERROR")
		if out := l.history(failing.id) + l.logs(e); !strings.Contains(out, failing.says) {
			t.Errorf("got %s, want %q in it", out, failing.says)
		}
		// It has stored nothing, and no task that deletes files could succeed.
		l.det.OK("", "experiment", "delete", "--yes", failing.id)
		l.Eventually("experiment "+failing.id+" is deleted", patience, func() error {
			if out, err := l.det.Exec("", "experiment", "describe", failing.id); err == nil {
				return errors.New(out)
			}
			return nil
		})
	}
	stop()

	l.Eventually("why nothing was deleted is shown", patience, func() error {
		for _, c := range l.saved(deleting) {
			if d := c.Deletion; d != nil && d.Failure != "" && c.State != "STATE_DELETED" {
				return nil
			}
		}
		return errors.New("no checkpoint waits for its deletion with a failure")
	})
	allow()
	if _, whole := stormTrials(); whole { // the deletion is retried after a minute
		l.awaitDeleted(deleting, len(l.saved(deleting))-1)
	}
}

// openBucket creates a bucket behind a proxy. It returns the settings with which an experiment
// saves one checkpoint in it.
func openBucket(t *testing.T) (setting string, cloud *faultproxy.Proxy) {
	t.Helper()
	a := motest.Open(t)
	api, err := upload.Open(t.Context(), upload.Server{
		AccessKey: secret.Literal(a.AccessKey), SecretKey: secret.Literal(a.SecretKey), EndpointURL: a.Endpoint,
	})
	if err != nil {
		t.Fatal(err)
	}
	bucket := "faulty-" + a.ID
	if _, err := api.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	cloud = faultproxy.Start(t, a.Endpoint, 0)
	return fmt.Sprintf("checkpoint_storage={type: s3, bucket: %s, access_key: %s, secret_key: %s, endpoint_url: '%s', save_trial_latest: 1, save_trial_best: 0}",
		bucket, a.AccessKey, a.SecretKey, cloud.URL), cloud
}
