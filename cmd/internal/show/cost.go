package show

import (
	"fmt"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Costs formats amounts of money, one per currency, as in "12.50 USD".
func Costs(costs []*apiv1.Cost) string {
	texts := make([]string, 0, len(costs))
	for _, c := range costs {
		texts = append(texts, fmt.Sprintf("%.2f %s", c.GetAmount(), c.GetCurrency()))
	}
	return strings.Join(texts, " + ")
}

// Usage formats slot-hours and their known cost.
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

// SlotPrice formats the price of a slot per hour, or returns "" if it is unknown.
func SlotPrice(p *apiv1.SlotPrice) string {
	if p == nil {
		return ""
	}
	text := fmt.Sprintf("%g %s per hour", p.GetPerHour(), p.GetCurrency())
	if p.SpotPerHour != nil {
		text += fmt.Sprintf(", %g on spot machines", p.GetSpotPerHour())
	}
	return text
}
