package control_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	googletest "github.com/det-deploy/det-deploy/test/google"
)

func clients(t *testing.T, client *http.Client, project string) api.Clients {
	t.Helper()
	c, err := api.New(t.Context(), client, api.Options{Project: project, Region: "us-central1", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fresh(t *testing.T, o gcptest.Options) (*gcptest.World, control.Bucket) {
	t.Helper()
	w := gcptest.New(t, o)
	return w, control.Open(clients(t, w.Client(""), gcptest.Project), "lab", gcptest.Number)
}

func TestBucketContract(t *testing.T) {
	t.Parallel()
	recordtest.Suite(t, func(t *testing.T) record.Store {
		_, b := fresh(t, gcptest.Options{})
		return b
	})
}

// The same contract against a third-party emulator of Cloud Storage.
func TestBucketContractOverHTTP(t *testing.T) {
	t.Parallel()
	recordtest.SuiteBut(t, func(t *testing.T) record.Store {
		return control.Open(clients(t, googletest.FakeGCS(t), gcptest.Project), "lab", 0)
	}, map[string]string{
		"a delete names what it removes": "fake-gcs-server ignores ifGenerationMatch when it deletes",
	})
}

// bubble runs a test in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMakeBucketPrivateAndLabeled(t *testing.T) {
	t.Parallel()
	w, b := fresh(t, gcptest.Options{})
	must(t, b.Make(t.Context()))
	live, err := api.Do(t.Context(), clients(t, w.Client(""), gcptest.Project).Storage.Buckets.Get(b.Name))
	must(t, err)
	if b.Name != fmt.Sprintf("det-deploy-lab-%d", gcptest.Number) {
		t.Errorf("got name %q, want cluster and project number in it", b.Name)
	}
	if !live.IamConfiguration.UniformBucketLevelAccess.Enabled || live.IamConfiguration.PublicAccessPrevention != "enforced" {
		t.Errorf("got %+v, want access by roles only", live.IamConfiguration)
	}
	if live.SoftDeletePolicy == nil || live.SoftDeletePolicy.RetentionDurationSeconds != 0 {
		t.Errorf("got %+v, want no soft delete", live.SoftDeletePolicy)
	}
	if live.Labels["det-deploy-cluster"] != "lab" {
		t.Errorf("got labels %v, want the mark", live.Labels)
	}
}

// The next run adds labels that the user requests later, and keeps those added by others.
func TestUserLabelsAreAdded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, b := fresh(t, gcptest.Options{})
		must(t, b.Make(t.Context()))
		must(t, api.Send(t.Context(), b.Clients.Storage.Buckets.Patch(b.Name, &storage.Bucket{Labels: map[string]string{"cost": "42"}})))
		b.Labels = map[string]string{"det-deploy-cluster": "lab", "team": "ml"}
		for range 2 {
			must(t, b.Make(t.Context()))
		}
		live, err := api.Do(t.Context(), b.Clients.Storage.Buckets.Get(b.Name))
		must(t, err)
		if got := live.Labels; len(got) != 3 || got["team"] != "ml" || got["cost"] != "42" || got["det-deploy-cluster"] != "lab" {
			t.Errorf("got labels %v", got)
		}
	})
}

// Google accepts one write per second and object, and one creation or deletion of a bucket every
// two seconds. A write that is rejected for its rate is repeated under the same condition.
func TestRateLimitedWritesAreRetried(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, b := fresh(t, gcptest.Options{ObjectInterval: time.Second, BucketInterval: 2 * time.Second})
		must(t, b.Make(t.Context()))
		version := ""
		for i := range 4 {
			var err error
			version, err = b.Put(t.Context(), record.Key, []byte{byte('0' + i)}, version)
			must(t, err)
		}
		must(t, b.Destroy(t.Context()))
		must(t, b.Make(t.Context()))
		_, err := b.Get(t.Context(), record.Key)
		if cloud.KindOf(err) != cloud.NotFound {
			t.Errorf("got %v, want a new bucket with nothing in it", err)
		}
	})
}

// A bucket that another project owns is never written.
func TestBucketOfAnotherProjectIsNotTouched(t *testing.T) {
	t.Parallel()
	w, b := fresh(t, gcptest.Options{})
	w.AddProject("others", 99)
	must(t, api.Send(t.Context(), clients(t, w.Client(""), "others").Storage.Buckets.Insert("others", &storage.Bucket{Name: b.Name, Location: "us-central1"})))
	before := len(w.Journal())
	_, getErr := b.Get(t.Context(), record.Key)
	_, putErr := b.Put(t.Context(), record.Key, []byte("x"), "")
	objects := control.Objects{Bucket: b, Gated: b.Clients}
	_, hasErr := objects.Has(t.Context(), "x")
	for what, err := range map[string]error{
		"has": hasErr, "upload": objects.Upload(t.Context(), "x", bytes.NewReader(nil)), "erase": objects.Erase(t.Context(), "x"),
		"make": b.Make(t.Context()), "get": getErr, "put": putErr, "delete": b.Delete(t.Context(), record.Key, "1"), "destroy": b.Destroy(t.Context()),
	} {
		e, ok := errors.AsType[*cloud.Error](err)
		if !ok || e.Kind != cloud.Denied || e.Hint() == "" {
			t.Errorf("%s: got %v, want an error that the name is taken", what, err)
		}
	}
	for _, call := range w.Journal()[before:] {
		if call.Op != "storage.buckets.get" && call.Code == "" {
			t.Errorf("got %s on a bucket of another project", call.Op)
		}
	}
}

// The bucket exists and is ours although the reply to its creation was lost.
func TestMakeAfterLostReply(t *testing.T) {
	for _, fault := range []faults.Fault{faults.LoseReply, faults.LoseRequest, faults.Break, faults.KillAfter, faults.ThrottleOnce} {
		t.Run(string(fault), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w, b := fresh(t, gcptest.Options{})
				w.FailChange(1, fault)
				first := b.Make(t.Context())
				if fault == faults.ThrottleOnce || fault == faults.LoseReply { // repeated
					must(t, first)
				} else if cloud.KindOf(first) != cloud.Ambiguous {
					t.Errorf("got %v, want an unknown outcome", first)
				}
				w.Revive()
				must(t, b.Make(t.Context()))
				_, err := b.Put(t.Context(), record.Key, []byte("one"), "")
				must(t, err)
			})
		})
	}
}

func TestProgramsAreUploadedWhole(t *testing.T) {
	t.Parallel()
	w, b := fresh(t, gcptest.Options{})
	must(t, b.Make(t.Context()))
	o := control.Objects{Bucket: b, Gated: clients(t, w.Client(""), gcptest.Project)}
	program := bytes.Repeat([]byte("program!"), 3<<20) // larger than one part of a resumable upload
	for range 2 {
		must(t, o.Upload(t.Context(), "programs/det-deploy", bytes.NewReader(program)))
	}
	has, err := o.Has(t.Context(), "programs/det-deploy")
	got, readErr := b.Get(t.Context(), "programs/det-deploy")
	if err != nil || readErr != nil || !has || !bytes.Equal(got.Data, program) {
		t.Errorf("got %t, %v, %v and %d bytes, want all %d", has, err, readErr, len(got.Data), len(program))
	}
	for range 2 {
		must(t, o.Erase(t.Context(), "programs/det-deploy"))
	}
	if has, err := o.Has(t.Context(), "programs/det-deploy"); has || err != nil {
		t.Errorf("got %t and %v, want it gone", has, err)
	}
}

// A rejected upload is repeated from the beginning.
func TestUploadIsRetriedFromTheBeginning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w, b := fresh(t, gcptest.Options{})
		must(t, b.Make(t.Context()))
		w.FailOp("storage.objects.insert", faults.ThrottleOnce)
		body := bytes.NewReader([]byte("whole"))
		_, err := io.CopyN(io.Discard, body, 2)
		must(t, err)
		must(t, control.Objects{Bucket: b, Gated: b.Clients}.Upload(t.Context(), "x", body))
		if o, err := b.Get(t.Context(), "x"); err != nil || string(o.Data) != "whole" {
			t.Errorf("got %q and %v, want the whole", o.Data, err)
		}
	})
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"det-deploy-lab-415104041262": "lab", "det-deploy-lab-2-415104041262": "lab-2",
		"det-deploy-lab-data-415104041262": "", "det-deploy-lab-1": "", "other-lab-415104041262": "", "det-deploy--415104041262": "",
	} {
		got, ok := control.ClusterOf(name, 415104041262)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %q and %t, want %q", name, got, ok, want)
		}
	}
}
