package rm

// Price is what a slot costs in an hour.
type Price struct {
	PerHour  float64 `json:"per_hour"`
	Currency string  `json:"currency"`
}
