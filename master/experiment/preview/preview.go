// Package preview estimates the size of an experiment before it is submitted: its trials and their
// lengths, the slots and the cost, and the reasons why trials will wait. It performs no I/O.
package preview

import (
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// Known is the information beside the configuration. Unknown values are 0.
type Known struct {
	// HoursPerUnit is the duration of one unit of the time metric, HoursPerTrial the duration of a
	// trial that ends by itself.
	HoursPerUnit, HoursPerTrial float64
	// Price is the price of the pool's slots.
	Price Price
	// Pool is the resource pool of the trials, nil if it is unknown.
	Pool *Pool
	// First is the number of trials that are listed with their hyperparameters.
	First int
}

// Preview is the estimate for an experiment.
type Preview struct {
	search.Preview
	// SlotsPerTrial is the number of slots of one trial, Slots that of all concurrent trials.
	SlotsPerTrial int `json:"slots_per_trial"`
	Slots         int `json:"slots"`
	// Expected assumes that trials stop as listed in Groups, AtMost that each runs to the end, which
	// happens if each is better than the ones before. Nil if the duration is unknown.
	Expected *Usage `json:"expected,omitempty"`
	AtMost   *Usage `json:"at_most,omitempty"`
	// Waits lists the reasons why trials will wait.
	Waits []string `json:"waits,omitempty"`
}

// Price is the price of a slot hour. The zero value is an unknown price.
type Price struct {
	Currency string
	// Expected is the usual price, AtMost the highest: spot and on-demand machines may differ.
	Expected, AtMost float64
}

// Usage is the estimated consumption of an experiment.
type Usage struct {
	SlotHours float64 `json:"slot_hours"`
	// Cost is nil if the price is unknown; Dollars is set only if the currency is USD.
	Cost     *float64 `json:"cost,omitempty"`
	Currency string   `json:"currency,omitempty"`
	Dollars  *float64 `json:"dollars,omitempty"`
}

// Of returns the preview of a complete configuration. It returns an error if the search
// configuration is invalid.
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

// estimateUsage returns nil if the duration of a trial is unknown.
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
