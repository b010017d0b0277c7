package launcher

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
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
