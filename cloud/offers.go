package cloud

// OrderOffers is the order in which a pool tries to get a machine: what is cheaper
// first, then by type, then by zone. Without spot there is on-demand only; with it,
// on-demand is tried last if fallback says so. Without zones the platform chooses.
func OrderOffers(types, zones []string, spot, fallback bool) []Offer {
	var prices []Price
	if spot {
		prices = append(prices, Spot)
	}
	if !spot || fallback {
		prices = append(prices, OnDemand)
	}
	if len(zones) == 0 {
		zones = []string{""}
	}
	var out []Offer
	for _, price := range prices {
		for _, kind := range types {
			for _, zone := range zones {
				out = append(out, Offer{Type: kind, Zone: zone, Price: price})
			}
		}
	}
	return out
}
