package show

import (
	"fmt"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Costs are amounts of money, one for each currency: "12.50 USD".
func Costs(costs []*apiv1.Cost) string {
	texts := make([]string, 0, len(costs))
	for _, c := range costs {
		texts = append(texts, fmt.Sprintf("%.2f %s", c.GetAmount(), c.GetCurrency()))
	}
	return strings.Join(texts, " + ")
}

// Usage is slot-hours and what they cost, as far as that is known.
func Usage(u *apiv1.ResourceUsage) string {
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("%.2f slot-hours", u.GetSlotHours())
	if len(u.GetCosts()) > 0 {
		text += ", " + Costs(u.GetCosts())
	}
	if n := u.GetUnpricedSlotHours(); n > 0 && len(u.GetCosts()) > 0 {
		text += fmt.Sprintf(" and %.2f slot-hours without a price", n)
	}
	return text
}

// SlotPrice is what a slot costs in an hour; empty where that is not known.
func SlotPrice(p *apiv1.SlotPrice) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%g %s an hour", p.GetPerHour(), p.GetCurrency())
	if p.SpotPerHour != nil {
		text += fmt.Sprintf(", %g on spot machines", p.GetSpotPerHour())
	}
	return text
}
