package gcp_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp"
	"github.com/det-deploy/det-deploy/installer/target/gcp/control"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/provision"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a cluster in a project, as an operator sees it.
type stage struct {
	hostedtest.Stage

	world *gcptest.World
	// caller is the identity of the operator; empty is the project's owner.
	caller string
	// sleep waits; if it is nil, the world's clock is advanced.
	sleep func(context.Context, time.Duration) error
}

func newStage(t *testing.T, o gcptest.Options, flags ...string) *stage {
	t.Helper()
	s := &stage{world: gcptest.New(t, o)}
	s.Stage = hostedtest.New(hostedtest.Platform{
		Name: "gcp", Flags: spec.GCPFlags(), New: func() spec.Cluster { return new(spec.GCP) }, Open: s.open,
		Store: func() record.Store { return control.Open(s.clients(nil), "lab", gcptest.Number) }, Settle: 10 * time.Second,
		Lenient: func(err error) bool { return errors.Is(err, faults.ErrInjected) },
		Sleep: func(ctx context.Context, d time.Duration) error {
			if s.sleep != nil {
				return s.sleep(ctx, d)
			}
			return s.world.Sleep(ctx, d)
		},
	}, map[string]string{"project": gcptest.Project, "region": "us-central1", "inbound-cidr": "203.0.113.0/24"}, flags...)
	return s
}

// clients returns the clients of a new process, which ask the gate before changes.
func (s *stage) clients(gate *resource.Gate) api.Clients { return clientsAs(s.world, s.caller, gate) }

func clientsOf(w *gcptest.World, gate *resource.Gate) api.Clients { return clientsAs(w, "", gate) }

func clientsAs(w *gcptest.World, caller string, gate *resource.Gate) api.Clients {
	c, err := api.New(context.Background(), w.Client(caller), api.Options{Project: gcptest.Project, Region: "us-central1", Gate: gate}) //nolint:forbidigo // nothing is sent
	if err != nil {
		panic(err)
	}
	return c
}

// open opens the cluster as a new process does.
func (s *stage) open(ctx context.Context, gate *resource.Gate, recorded map[string]string, o hosted.Options) (hostedtest.Target, record.Store, error) {
	o.Refusals = func(m config.Master) document.Errors { return append(provision.Problems(m), config.Unbuilt(m)...) }
	var l layout.Layout
	if err := spec.GCPFlags().Read(&l.Spec, "lab", o.Settings); err != nil {
		return nil, nil, err
	}
	var err error
	if l.Known, err = layout.ReadKnown(recorded); err != nil {
		return nil, nil, err
	}
	t, err := gcp.Open(ctx, gcp.Config{Layout: l, Clients: s.clients(gate), Free: s.clients(nil), Options: o, Adopts: len(recorded) > 0}) //nolint:contextcheck // nothing is sent
	if err != nil {
		return nil, nil, err
	}
	return t, t.Store(), nil
}

// operator returns a new process.
func (s *stage) operator(ctx context.Context) (*installer.Installer, *gcp.Target, error) {
	in, t, err := s.Operator(ctx)
	target, _ := t.(*gcp.Target)
	return in, target, err
}

// target returns the target of a new process.
func (s *stage) target(ctx context.Context) (*gcp.Target, error) {
	_, t, err := s.operator(ctx)
	return t, err
}

func (s *stage) wantLeft(t *testing.T, want ...string) {
	t.Helper()
	if got := s.world.Live(); !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("got left %v, want %v", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
