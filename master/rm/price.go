package rm

// Price is the price of a slot per hour.
type Price struct {
	PerHour  float64 `json:"per_hour"`
	Currency string  `json:"currency"`
}
