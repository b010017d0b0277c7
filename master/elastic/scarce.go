package elastic

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// ScarceMemory is the time that a lack of capacity is remembered.
const ScarceMemory = time.Hour

// noteScarce records that an offer lacks capacity: a launch failed for it, or a machine was interrupted.
func (f *Fleet) noteScarce(o cloud.Offer, now time.Time) {
	if f.Scarce == nil {
		f.Scarce = make(map[cloud.Offer]time.Time)
	}
	f.Scarce[o] = now
}

// RestoreScarce restores the unexpired records of an earlier master.
func (f *Fleet) RestoreScarce(scarce map[cloud.Offer]time.Time, now time.Time) {
	for o, at := range scarce {
		if now.Sub(at) < ScarceMemory {
			f.noteScarce(o, at)
		}
	}
}

// OrderByScarcity returns the offers in the order in which they are tried: as configured, except that
// within one type and price those that recently lacked capacity come last, the least recent first.
func OrderByScarcity(offers []cloud.Offer, scarce map[cloud.Offer]time.Time, now time.Time) []cloud.Offer {
	if len(scarce) == 0 {
		return offers
	}
	since := func(o cloud.Offer) time.Time {
		at, found := scarce[o]
		if !found || now.Sub(at) >= ScarceMemory {
			return time.Time{}
		}
		return at
	}
	out := slices.Clone(offers)
	for from := 0; from < len(out); {
		to := from
		for to < len(out) && out[to].Type == out[from].Type && out[to].Price == out[from].Price {
			to++
		}
		slices.SortStableFunc(out[from:to], func(a, b cloud.Offer) int { return since(a).Compare(since(b)) })
		from = to
	}
	return out
}
