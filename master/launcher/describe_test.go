package launcher

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

func TestIsSpot(t *testing.T) {
	t.Parallel()
	for _, price := range []cloud.Price{cloud.Spot, cloud.OnDemand} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, boot(time.Minute), func(p *Pool) { p.Offers = []cloud.Offer{{Type: "a", Price: price}} })
			w.later(time.Second).submit("t", 8)
			w.later(2 * time.Minute)
			machines, err := w.History(t.Context(), "gpu")
			if err != nil || len(machines) != 1 {
				t.Fatalf("got %v, %v, want one machine", machines, err)
			}
			if got := w.IsSpot("gpu", machines[0].GetId()); got != (price == cloud.Spot) {
				t.Errorf("%s: got spot %v", price, got)
			}
			if w.IsSpot("gpu", "a-machine-of-the-owner") || w.IsSpot("static", machines[0].GetId()) {
				t.Error("machines that were not launched for the pool are spot machines")
			}
		})
	}
}

// A pool that launches nothing after a launch error says so, also after the refusal itself has ended.
func TestLaunchErrorOfPoolIsAProblem(t *testing.T) {
	t.Parallel()
	offer := cloud.Offer{Type: "a"}
	s := &state{fleet: elastic.New(elastic.Limits{Max: 5, ErrorTimeout: time.Hour}, []cloud.Offer{offer}, elastic.Shape{Slots: 8})}
	s.fleet.Refuse(offer, elastic.Refusal{Kind: cloud.Denied, Text: "not authorized"}, time.Now().Add(-40*time.Minute))
	got := s.countMachines()
	if p := got.GetProblems(); len(p) != 1 || !strings.Contains(p[0], "launch_error_timeout") || !strings.Contains(p[0], "not authorized") || len(got.GetRefusals()) > 0 {
		t.Errorf("got the problems %q and the refusals %v, want the launch error", p, got.GetRefusals())
	}
}
