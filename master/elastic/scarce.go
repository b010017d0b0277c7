package elastic

import (
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// ScarceMemory is how long it is remembered that an offer had no machines.
const ScarceMemory = time.Hour

// noteScarce remembers that an offer has no machines: it was refused for that, or one was
// taken back.
func (f *Fleet) noteScarce(o cloud.Offer, now time.Time) {
	if f.Scarce == nil {
		f.Scarce = make(map[cloud.Offer]time.Time)
	}
	f.Scarce[o] = now
}

// RestoreScarce takes in what an earlier master has remembered, as far as it counts.
func (f *Fleet) RestoreScarce(scarce map[cloud.Offer]time.Time, now time.Time) {
	for o, at := range scarce {
		if now.Sub(at) < ScarceMemory {
			f.noteScarce(o, at)
		}
	}
}

// OrderByScarcity is the order in which offers are tried: as they are configured, but that
// within one type and price those that lately had no machines go last, the one of longest
// ago first.
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
