package config

import (
	"math"
	"regexp"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// SlotPrice is what the slots of a pool cost, as the cluster's owner states it. No cloud is
// asked for it.
type SlotPrice struct {
	PerHour     float64  `yaml:"per_hour" doc:"What one slot costs in an hour: the price of a machine divided by its slots"`
	SpotPerHour *float64 `yaml:"spot_per_hour" doc:"The same on a spot machine; per_hour when empty"`
	Currency    string   `yaml:"currency" doc:"Currency of both, as ISO 4217 writes it"`
}

// SetDefaults makes p a price in dollars.
func (p *SlotPrice) SetDefaults() { *p = SlotPrice{Currency: "USD"} }

// On is what a slot costs in an hour on a machine.
func (p SlotPrice) On(spot bool) float64 {
	if spot && p.SpotPerHour != nil {
		return *p.SpotPerHour
	}
	return p.PerHour
}

var currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)

// Validate checks the price; spot is whether machines of its pool may be spot machines.
func (p SlotPrice) Validate(path string, spot bool) document.Errors {
	var e document.Errors
	check := func(key string, x float64) {
		e.Check(x > 0 && !math.IsInf(x, 0), document.Join(path, key), "must be more than 0 (is %v)", x)
	}
	check("per_hour", p.PerHour)
	if p.SpotPerHour != nil {
		check("spot_per_hour", *p.SpotPerHour)
		e.Check(spot, document.Join(path, "spot_per_hour"), "has no effect without spot machines; remove it, or set spot of the pool")
	}
	e.Check(currencyForm.MatchString(p.Currency), document.Join(path, "currency"), "must be three capital letters such as USD (is %q)", p.Currency)
	return e
}

// launchesSpot reports whether a pool's provider may launch spot machines.
func launchesSpot(p *provider.Provider) bool {
	return p != nil && (p.AWS != nil && p.AWS.Spot.Enabled || p.GCP != nil && p.GCP.IsSpot())
}
