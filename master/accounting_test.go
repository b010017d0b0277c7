package master

import (
	"math"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/rm"
)

func TestPriceSlots(t *testing.T) {
	t.Parallel()
	spotPrice := 1.0
	price := config.SlotPrice{PerHour: 4, SpotPerHour: &spotPrice, Currency: "EUR"}
	on := func(agent rm.AgentID, slots int) rm.Container {
		return rm.Container{Agent: agent, Devices: make([]*apiv1.Device, slots)}
	}
	for _, tt := range []struct {
		name       string
		price      config.SlotPrice
		containers []rm.Container
		want       float64
	}{
		{"on demand", price, []rm.Container{on("a", 2)}, 4},
		{"spot", price, []rm.Container{on("spot", 2)}, 1},
		{"both", price, []rm.Container{on("a", 1), on("spot", 2)}, 2},
		{"spot without a price of its own", config.SlotPrice{PerHour: 4, Currency: "EUR"}, []rm.Container{on("spot", 2)}, 4},
		{"no slots", price, []rm.Container{on("spot", 0)}, 4},
	} {
		got := priceSlots(tt.price, tt.containers, func(id rm.AgentID) bool { return id == "spot" })
		if math.Abs(got.PerHour-tt.want) > 1e-9 || got.Currency != "EUR" {
			t.Errorf("%s: got %+v, want %v EUR", tt.name, got, tt.want)
		}
	}
}
