package infra_test

import (
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/record"
	recordtest "github.com/det-deploy/det-deploy/test/contract/record"
	"github.com/det-deploy/det-deploy/test/faultproxy"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// Over a network that drops requests and responses, and with an AWS that occasionally returns
// errors and is slow, re-running the command reaches the wanted state.
func TestLifecycleOverUnreliableNetwork(t *testing.T) {
	t.Parallel()
	a := motest.Open(t)
	second := time.Second
	a.Configure(t, motest.Settings{Pending: &second, Shutdown: &second, Stopping: &second, ProfileLag: &second})
	p := faultproxy.Start(t, a.Endpoint, 0)
	s := &stage{
		account: a.ID, image: motest.ImageAMD64, store: new(recordtest.Memory), settle: time.Second, wish: modest(),
		dead: func(record.Holder) bool { return true }, pause: hurry,
		clients: func(gate *resource.Gate) api.Clients {
			c := a.Config()
			c.BaseEndpoint = aws.String(p.URL)
			return api.New(c, api.Options{Gate: gate})
		},
	}
	changing := regexp.MustCompile(`^(Allocate|Associate|Attach|Authorize|Add|Create|Delete|Detach|Disassociate|Modify|Put|Release|Revoke|Run|Stop|Tag|Terminate|Update)`)
	spoil := func() {
		p.Clear()
		for _, e := range []faultproxy.Effect{
			faultproxy.Drop(), faultproxy.Lose(), faultproxy.Throttle(), faultproxy.Refuse(500, "InternalError", "An internal error has occurred"),
		} {
			p.Add(faultproxy.Rule{Action: changing, Probability: 0.1, Effect: e})
		}
	}
	// A third of all modifying calls fail, so it takes several runs until each of some thirty has
	// succeeded.
	insist := func(what string, run func() error) {
		t.Helper()
		spoil()
		var err error
		for i := range 30 {
			if err = run(); err == nil {
				t.Logf("%s: done in run %d", what, i+1)
				p.Clear()
				return
			}
		}
		t.Fatalf("%s: still fails after 30 runs: %v", what, err)
	}
	up := func() error { return s.up(t.Context()) }
	insist("up", up)
	s.wantNothingToDo(t)
	s.wantLive(t, whole)
	s.wish.machine, s.wish.inbound, s.wish.tags = "m6i.xlarge", "198.51.100.0/24", map[string]string{"team": "vision"}
	insist("update", up)
	s.wantNothingToDo(t)
	insist("down", func() error {
		_, err := s.down(t.Context(), true)
		if _, gaveUp := errors.AsType[*infra.WaitError](err); gaveUp {
			t.Errorf("down: %v", err)
		}
		return err
	})
	s.wantLive(t, []string{})
	faults := 0
	for _, c := range p.Calls() {
		if c.Fault != "" {
			faults++
		}
	}
	t.Logf("%d of %d calls failed", faults, len(p.Calls()))
}
