package elastic

import (
	"maps"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Refusal is a failed launch.
type Refusal struct {
	Kind  cloud.Kind
	Offer cloud.Offer
	// Text is the platform's message, Fix a possible remedy.
	Text string
	Fix  string
	At   time.Time
	// Until is the time of the next attempt, Times the number of consecutive refusals.
	Until time.Time
	Times int
	// Broken reports that machines were granted but unusable.
	Broken bool
}

// scope is the set of offers that a refusal applies to.
type scope string

const (
	offerScope scope = "offer" // this type in this zone
	priceScope scope = "price" // every offer of this price class
	poolScope  scope = "pool"  // every offer
)

// backoff is the reaction to refusals of one kind: the scope that is avoided and for how long, doubled
// with each consecutive refusal.
type backoff struct {
	scope       scope
	first, most time.Duration
}

// backoffOf returns the back-off for a kind. An error that a person must fix is retried within a quarter
// of an hour, so that the fix does not require a restart of the master; a temporary error is retried
// sooner.
func backoffOf(k cloud.Kind) backoff {
	switch k {
	case cloud.NoCapacity:
		return backoff{offerScope, time.Minute, 10 * time.Minute}
	case cloud.Invalid, cloud.NotFound, cloud.Conflict:
		return backoff{offerScope, 30 * time.Second, 15 * time.Minute}
	case cloud.Quota:
		return backoff{priceScope, 30 * time.Second, 15 * time.Minute}
	case cloud.Denied:
		return backoff{poolScope, 30 * time.Second, 15 * time.Minute}
	case cloud.RateLimited, cloud.Unavailable, cloud.Ambiguous, cloud.Unknown:
	}
	return backoff{poolScope, time.Second, time.Minute}
}

// Refusals holds the active refusals of a pool. Its zero value has none.
type Refusals struct {
	offers map[cloud.Offer]Refusal
	prices map[cloud.Price]Refusal
	pool   Refusal
	// last is the newest launch error, errors the number of consecutive ones before it.
	last   Refusal
	errors int
}

// Refuse records that an offer was refused, and returns the refusal in effect. It counts as a launch
// error if no offer is left to try.
func (f *Fleet) Refuse(o cloud.Offer, r Refusal, now time.Time) Refusal {
	r, noted := f.coolOff(o, r, now)
	if !noted || r.Kind.Transient() || f.availableOffers(now) {
		return r
	}
	s := &f.Refusals
	if s.last.At.IsZero() || now.Sub(s.last.At) > f.Limits.ErrorTimeout {
		s.errors = 0
	} else {
		s.errors++
	}
	s.last = r
	return r
}

// coolOff avoids the scope of a refusal until its back-off ends. A refusal during an active one comes
// from a concurrent call and is not recorded; coolOff then returns the active one and false.
func (f *Fleet) coolOff(o cloud.Offer, r Refusal, now time.Time) (stands Refusal, noted bool) {
	b := backoffOf(r.Kind)
	s := &f.Refusals
	before := s.refusalAt(b.scope, o)
	if before.Until.After(now) {
		return before, false
	}
	if r.Kind == cloud.NoCapacity {
		f.noteScarce(o, now)
	}
	r.Offer, r.At, r.Times = o, now, before.Times+1
	wait := b.most
	if before.Times < 20 { // the shift would overflow beyond it, and b.most is reached long before
		wait = min(b.most, b.first<<before.Times)
	}
	if t := f.Limits.ErrorTimeout; t > 0 {
		// Otherwise an error would have expired before the next one, and errors would never count as
		// consecutive.
		wait = min(wait, max(t/2, b.first))
	}
	r.Until = now.Add(wait)
	s.recordRefusal(b.scope, r)
	return r, true
}

// Grant clears the refusals of an offer that gave machines, except for broken ones: such a machine has
// to join first.
func (f *Fleet) Grant(o cloud.Offer) {
	s := &f.Refusals
	delete(f.Scarce, o)
	if !s.offers[o].Broken {
		delete(s.offers, o)
	}
	if !s.prices[o.Price].Broken {
		delete(s.prices, o.Price)
	}
	if !s.pool.Broken {
		s.pool = Refusal{}
	}
	if !s.last.Broken {
		s.last, s.errors = Refusal{}, 0
	}
}

// clearFor clears the refusals of an offer after one of its machines has joined with all its slots.
func (s *Refusals) clearFor(o cloud.Offer) {
	delete(s.offers, o)
	delete(s.prices, o.Price)
	s.pool = Refusal{}
	if s.last.Broken {
		s.last, s.errors = Refusal{}, 0
	}
}

func (s *Refusals) refusalAt(w scope, o cloud.Offer) Refusal {
	switch w {
	case offerScope:
		return s.offers[o]
	case priceScope:
		return s.prices[o.Price]
	case poolScope:
	}
	return s.pool
}

func (s *Refusals) recordRefusal(w scope, r Refusal) {
	switch w {
	case offerScope:
		if s.offers == nil {
			s.offers = make(map[cloud.Offer]Refusal)
		}
		s.offers[r.Offer] = r
	case priceScope:
		if s.prices == nil {
			s.prices = make(map[cloud.Price]Refusal)
		}
		s.prices[r.Offer.Price] = r
	case poolScope:
		s.pool = r
	}
}

// longestRefusal returns the active refusal of an offer that lasts longest, or the zero value.
func (s *Refusals) longestRefusal(o cloud.Offer, now time.Time) Refusal {
	var worst Refusal
	for _, r := range []Refusal{s.offers[o], s.prices[o.Price], s.pool} {
		if r.Until.After(now) && r.Until.After(worst.Until) {
			worst = r
		}
	}
	return worst
}

// chooseOffer returns the first offer without an active refusal. If there is no such offer, it returns
// false and the refusal that ends first.
func (f *Fleet) chooseOffer(now time.Time) (o cloud.Offer, in Refusal, ok bool) {
	for _, o := range OrderByScarcity(f.Offers, f.Scarce, now) {
		r := f.Refusals.longestRefusal(o, now)
		if r.Until.IsZero() {
			return o, Refusal{}, true
		}
		if in.Until.IsZero() || r.Until.Before(in.Until) {
			in = r
		}
	}
	return cloud.Offer{}, in, false
}

func (f *Fleet) availableOffers(now time.Time) bool {
	_, _, ok := f.chooseOffer(now)
	return ok
}

// Shown returns the launch error that fails tasks, and reports whether there is one.
func (f *Fleet) Shown(now time.Time) (Refusal, bool) {
	s, t := &f.Refusals, f.Limits.ErrorTimeout
	until := s.last.At.Add(t)
	if t <= 0 || s.last.At.IsZero() || s.errors < f.Limits.ErrorRetries || !until.After(now) {
		return Refusal{}, false
	}
	r := s.last
	r.Until = until
	return r, true
}

// Held returns the refusal that delays the retry of an open launch, and reports whether there is one.
func (f *Fleet) Held(now time.Time) (Refusal, bool) {
	for _, token := range slices.Sorted(maps.Keys(f.Launches)) {
		l := f.Launches[token]
		if r := f.Refusals.longestRefusal(l.Offer, now); l.Until.IsZero() && !r.Until.IsZero() {
			return r, true
		}
	}
	return Refusal{}, false
}

// Standing returns the active refusals, the pool's first, then by offer in the pool's order.
func (f *Fleet) Standing(now time.Time) []Refusal {
	var out []Refusal
	add := func(r Refusal) {
		if r.Until.After(now) {
			out = append(out, r)
		}
	}
	add(f.Refusals.pool)
	for _, p := range slices.Sorted(maps.Keys(f.Refusals.prices)) {
		add(f.Refusals.prices[p])
	}
	for _, o := range f.Offers {
		add(f.Refusals.offers[o])
	}
	return out
}
