package aws_test

import (
	"context"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// overHTTP returns an account of a moto server that the AWS SDK calls over HTTP.
func overHTTP(t *testing.T) *cloudy {
	t.Helper()
	a := motest.Open(t)
	return &cloudy{
		clients: func(gate *resource.Gate) api.Clients { return api.New(a.Config(), api.Options{Gate: gate}) },
		pause: func(ctx context.Context, _ time.Duration) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
				return nil
			}
		},
		account: a.ID, settle: time.Second,
	}
}

func TestControlBucketContractOverHTTP(t *testing.T) {
	t.Parallel()
	recordtest.Suite(t, func(t *testing.T) record.Store {
		c := overHTTP(t)
		return control.Open(c.clients(nil), "lab", c.account)
	})
}

// The same layouts as in memory, against a third-party emulator. The test is not parallel, because
// moto returns 500 when many new accounts are used at once.
func TestLifecycleOfEachLayoutOverHTTP(t *testing.T) {
	for _, l := range layouts() {
		t.Run(l.name, func(t *testing.T) {
			c := overHTTP(t)
			s := newStage(c, l.prepare(t, c)...)
			must(t, s.Up(t.Context()))
			s.WantNothingToDo(t)
			s.Set(l.change...)
			must(t, s.Up(t.Context()))
			s.WantNothingToDo(t)
			_, err := s.Down(t.Context(), true)
			must(t, err)
			_, target, err := s.operator(t.Context())
			must(t, err)
			left, err := target.Inventory(t.Context(), "lab")
			must(t, err)
			if len(left) > 0 {
				t.Errorf("got left %v, want nothing", left)
			}
		})
	}
}
