package gcp

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// What the form has listed it does not ask for again.
func TestFormMakesNoCallTwice(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	c, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: "us-central1"})
	if err != nil {
		t.Fatal(err)
	}
	f := facts.Facts{Clients: c}
	zones, err := f.Zones(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a := newAdvice(f, zones)
	choices, err := a.GPUMachines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed := w.Calls()
	for _, one := range choices {
		if err := errors.Join(a.Offered(t.Context(), one.Value), a.Room(t.Context(), one.Value, 1)); err != nil {
			t.Errorf("%s: got %v, want that it is offered", one.Value, err)
		}
	}
	if n := w.Calls() - listed; n != 0 {
		t.Errorf("got %d calls, want none", n)
	}
}
