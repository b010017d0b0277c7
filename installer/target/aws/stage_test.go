package aws_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/provision"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cloudy is an AWS account, in memory or over HTTP.
type cloudy struct {
	clients func(*resource.Gate) api.Clients
	pause   func(context.Context, time.Duration) error
	// world is nil over HTTP.
	world   *awstest.World
	account string
	settle  time.Duration
}

func inMemory(o awstest.Options) *cloudy {
	w := awstest.New(o)
	return &cloudy{clients: w.Clients, pause: w.Sleep, world: w, account: awstest.Account, settle: 10 * time.Second}
}

// stage is a cluster in an account, as an operator sees it.
type stage struct {
	hostedtest.Stage
	*cloudy
}

func newStage(c *cloudy, flags ...string) *stage {
	s := &stage{cloudy: c}
	s.Stage = hostedtest.New(hostedtest.Platform{
		Name: "aws", Flags: spec.AWSFlags(), New: func() spec.Cluster { return new(spec.AWS) }, Open: s.open,
		Store: func() record.Store { return s.store() }, Sleep: c.pause, Settle: c.settle,
		Lenient: func(err error) bool { return c.world == nil || errors.Is(err, faults.ErrInjected) },
	}, map[string]string{"region": "us-west-2", "inbound-cidr": "203.0.113.0/24"}, flags...)
	return s
}

// store returns the control bucket.
func (s *stage) store() control.Bucket { return control.Open(s.clients(nil), "lab", s.account) }

// open opens the cluster as a new process does.
func (s *stage) open(ctx context.Context, gate *resource.Gate, recorded map[string]string, o hosted.Options) (hostedtest.Target, record.Store, error) {
	o.Refusals = func(m config.Master) document.Errors { return append(provision.Problems(m), config.Unbuilt(m)...) }
	var a spec.AWS
	if err := spec.AWSFlags().Read(&a, "lab", o.Settings); err != nil {
		return nil, nil, err
	}
	known, err := layout.ReadKnown(recorded)
	if err != nil {
		return nil, nil, err
	}
	t, err := aws.Open(ctx, aws.Config{Layout: layout.Layout{Spec: a, Known: known}, Clients: s.clients(gate), Free: s.clients(nil), Options: o})
	if err != nil {
		return nil, nil, err
	}
	return t, t.Store(), nil
}

// operator returns a new process.
func (s *stage) operator(ctx context.Context) (*installer.Installer, *aws.Target, error) {
	in, t, err := s.Operator(ctx)
	target, _ := t.(*aws.Target)
	return in, target, err
}

func (s *stage) wantLeft(t *testing.T, want ...string) {
	t.Helper()
	got := s.world.Live()
	if !slices.Equal(got, want) && len(got)+len(want) > 0 {
		t.Errorf("got left %v, want %v", got, want)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
