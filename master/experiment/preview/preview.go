// Package preview says what an experiment will be before it is one: how many trials it has and how
// far they go, what it takes of the cluster, and what will keep it waiting. It is pure.
package preview

import (
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Known is what is known beside the configuration. What is not known is 0.
type Known struct {
	// HoursPerUnit is how long a trial takes for one unit of the time metric, HoursPerTrial how
	// long one takes that ends by itself.
	HoursPerUnit, HoursPerTrial float64
	// Price is what the pool's slots cost.
	Price Price
	// Pool is where the trials will run; nil is not known.
	Pool *Pool
	// First is how many trials are shown with their hyperparameters.
	First int
}

// Preview is what an experiment will be.
type Preview struct {
	search.Preview
	// SlotsPerTrial and Slots are the slots of one trial and of all that run at once.
	SlotsPerTrial int `json:"slots_per_trial"`
	Slots         int `json:"slots"`
	// Expected is what trials take that go as far as the groups say, AtMost what they take when
	// each goes to the end, as when each comes in better than the one before. Nil is not known.
	Expected *Usage `json:"expected,omitempty"`
	AtMost   *Usage `json:"at_most,omitempty"`
	// Waits is what will keep trials waiting, in words.
	Waits []string `json:"waits,omitempty"`
}

// Price is what a slot costs in an hour; the zero Price is not known.
type Price struct {
	Currency string
	// Expected is the usual price, AtMost the highest: spot machines may be others.
	Expected, AtMost float64
}

// Usage is what an experiment takes.
type Usage struct {
	SlotHours float64 `json:"slot_hours"`
	// Cost is nil where the price is not known; Dollars is the same in dollars.
	Cost     *float64 `json:"cost,omitempty"`
	Currency string   `json:"currency,omitempty"`
	Dollars  *float64 `json:"dollars,omitempty"`
}

// Of says what a complete configuration will be.
func Of(x config.Experiment, k Known) (Preview, error) {
	c := x.Search()
	s, err := c.Preview(k.First)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Preview: s}
	if n := x.Resources.SlotsPerTrial; n != nil {
		p.SlotsPerTrial = *n
	}
	atOnce := p.Concurrent
	if limit := x.Resources.MaxSlots; limit != nil && p.SlotsPerTrial > 0 {
		atOnce = min(atOnce, *limit/p.SlotsPerTrial)
		p.Waits = append(p.Waits, describeMaxSlots(*limit, atOnce, p)...)
	}
	p.Slots = atOnce * p.SlotsPerTrial
	if k.Pool != nil {
		p.Waits = append(p.Waits, k.Pool.describeWaits(p)...)
	}
	p.Expected, p.AtMost = k.estimateUsage(p, c)
	return p, nil
}

// estimateUsage is nothing where it is not known how long a trial takes.
func (k Known) estimateUsage(p Preview, c search.Config) (expected, atMost *Usage) {
	var hours, most float64
	for _, g := range p.Groups {
		perTrial := k.HoursPerUnit * float64(g.Units)
		longest := k.HoursPerUnit * float64(c.MaxTime)
		if !c.Halving() && k.HoursPerTrial > 0 {
			perTrial, longest = k.HoursPerTrial, k.HoursPerTrial
		}
		if perTrial <= 0 {
			return nil, nil
		}
		hours += perTrial * float64(g.Trials)
		most += longest * float64(g.Trials)
	}
	slots := float64(p.SlotsPerTrial)
	return k.Price.priceUsage(hours*slots, k.Price.Expected), k.Price.priceUsage(most*slots, k.Price.AtMost)
}

func (p Price) priceUsage(slotHours, perHour float64) *Usage {
	u := &Usage{SlotHours: slotHours}
	if p.Currency == "" {
		return u
	}
	cost := slotHours * perHour
	u.Cost, u.Currency = &cost, p.Currency
	if p.Currency == "USD" {
		u.Dollars = &cost
	}
	return u
}
