package cloud

// OrderOffers returns the offers of a pool in the order of attempts: spot first, then by type, then
// by zone. Without spot, all offers are on-demand. With spot, on-demand offers are appended if
// fallback is true. Without zones, the platform chooses the zone.
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
