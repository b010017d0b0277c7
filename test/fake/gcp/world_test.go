package gcptest_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/internal/wait"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const (
	project = gcptest.Project
	region  = "us-west1"
	zoneB   = "us-west1-b"
)

// clients holds Google's generated clients of one caller.
type clients struct {
	compute *compute.Service
	storage *storage.Service
	iam     *iam.Service
	manager *cloudresourcemanager.Service
}

func clientsOf(t *testing.T, w *gcptest.World, c gcptest.Caller) clients {
	t.Helper()
	o := option.WithHTTPClient(&http.Client{Transport: w.Transport(c)})
	return clients{
		compute: made[*compute.Service](t)(compute.NewService(t.Context(), o)), storage: made[*storage.Service](t)(storage.NewService(t.Context(), o)),
		iam: made[*iam.Service](t)(iam.NewService(t.Context(), o)), manager: made[*cloudresourcemanager.Service](t)(cloudresourcemanager.NewService(t.Context(), o)),
	}
}

func made[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newWorld(t *testing.T, o gcptest.Options) (*gcptest.World, clients) {
	t.Helper()
	w := gcptest.New(t, o)
	return w, clientsOf(t, w, gcptest.Caller{})
}

// pass waits in a synctest bubble.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	if err := wait.For(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// wantStatus compares an error with an HTTP status and a reason.
func wantStatus(t *testing.T, err error, status int, reason string) {
	t.Helper()
	e, ok := errors.AsType[*googleapi.Error](err)
	if !ok || e.Code != status || len(e.Errors) == 0 || e.Errors[0].Reason != reason {
		t.Errorf("got %v, want %d %s", err, status, reason)
	}
}

// recorder is a testing.TB that records errors.
type recorder struct {
	testing.TB
	faults []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.faults = append(r.faults, sprintf(format, args...))
}
