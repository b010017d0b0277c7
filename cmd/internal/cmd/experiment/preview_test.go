package experiment

import (
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/experiment/preview"
)

func TestPreviewUsesPoolPrice(t *testing.T) {
	t.Parallel()
	spot := 1.0
	stated := &apiv1.SlotPrice{PerHour: 3, SpotPerHour: &spot, Currency: "EUR"}
	for _, tt := range []struct {
		name string
		pool *apiv1.ResourcePool
		want preview.Price
	}{
		{"none", &apiv1.ResourcePool{}, preview.Price{}},
		{"none of a pool with spot machines", &apiv1.ResourcePool{Preemptible: true}, preview.Price{}},
		{"on demand", &apiv1.ResourcePool{SlotPrice: stated}, preview.Price{Currency: "EUR", Expected: 3, AtMost: 3}},
		{"spot, which may fall back", &apiv1.ResourcePool{SlotPrice: stated, Preemptible: true}, preview.Price{Currency: "EUR", Expected: 1, AtMost: 3}},
		{
			"one price for all", &apiv1.ResourcePool{SlotPrice: &apiv1.SlotPrice{PerHour: 3, Currency: "EUR"}, Preemptible: true},
			preview.Price{Currency: "EUR", Expected: 3, AtMost: 3},
		},
	} {
		if got := priceOf(tt.pool); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}
