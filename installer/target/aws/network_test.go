package aws_test

import (
	"regexp"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
	"github.com/det-deploy/det-deploy/test/faultproxy"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// Over a network that loses requests and replies, with an AWS that rejects some, repeated commands
// complete: twenty times, and forty times with `make faults`.
func TestClusterLifecycleOverUnreliableNetwork(t *testing.T) {
	t.Parallel()
	wanted := 40 / min(faults.Stride(2), 2)
	c := overHTTP(t)
	a := motest.Open(t)
	p := faultproxy.Start(t, a.Endpoint, 0)
	c.account = a.ID
	c.clients = func(gate *resource.Gate) api.Clients {
		cfg := a.Config()
		cfg.BaseEndpoint = sdk.String(p.URL)
		return api.New(cfg, api.Options{Gate: gate})
	}
	s := newStage(c)
	s.Dead = func(record.Holder) bool { return true }
	changing := regexp.MustCompile(`^(Allocate|Associate|Attach|Authorize|Add|Create|Delete|Detach|Disassociate|Modify|Put|Release|Revoke|Run|Stop|Tag|Terminate|Update)`)
	insist := func(what string, run func() error) {
		t.Helper()
		for _, e := range []faultproxy.Effect{
			faultproxy.Drop(), faultproxy.Lose(), faultproxy.Throttle(), faultproxy.Refuse(500, "InternalError", "An internal error has occurred"),
		} {
			p.Add(faultproxy.Rule{Action: changing, Probability: 0.05, Effect: e})
		}
		defer p.Clear()
		var err error
		for range 30 {
			if err = run(); err == nil {
				return
			}
		}
		t.Fatalf("%s: still fails after 30 runs: %v", what, err)
	}
	up := func() error { return s.Up(t.Context()) }
	for failed(p) < wanted {
		insist("up", up)
		s.WantNothingToDo(t)
		s.Set("max-agents", "9", "inbound-cidr", "198.51.100.0/24", "data-volume-size", "200")
		insist("update", up)
		s.WantNothingToDo(t)
		insist("down", func() error {
			_, err := s.Down(t.Context(), true)
			return err
		})
		_, target, err := s.operator(t.Context())
		must(t, err)
		left, err := target.Inventory(t.Context(), "lab")
		must(t, err)
		if len(left) > 0 {
			t.Fatalf("got left %v, want nothing", left)
		}
	}
	t.Logf("%d of %d calls failed", failed(p), len(p.Calls()))
}

func failed(p *faultproxy.Proxy) int {
	n := 0
	for _, c := range p.Calls() {
		if c.Fault != "" {
			n++
		}
	}
	return n
}
