package elastic

import (
	"maps"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Refusal is one answer that was not a machine.
type Refusal struct {
	Kind  cloud.Kind
	Offer cloud.Offer
	// Text is what the platform said, Fix what can be done about it.
	Text string
	Fix  string
	At   time.Time
	// Until is when the next try is made, Times how many in a row there were.
	Until time.Time
	Times int
	// Broken says that machines were given, and were no good.
	Broken bool
}

// scope is what a refusal says something about.
type scope string

const (
	offerScope scope = "offer" // this type in this zone
	priceScope scope = "price" // every offer of this price class
	poolScope  scope = "pool"  // every offer
)

// backoff is how refusals of one kind are answered: what is left alone, and for
// how long, doubled with each refusal in a row.
type backoff struct {
	scope       scope
	first, most time.Duration
}

// backoffOf is the table of kinds. What a person must change is looked at again
// within a quarter of an hour, so that a change does not need a restart of the
// master; what passes by itself is tried sooner.
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

// Refusals is what the pool remembers of them. Its zero value is a pool that was
// never refused anything.
type Refusals struct {
	offers map[cloud.Offer]Refusal
	prices map[cloud.Price]Refusal
	pool   Refusal
	// last is the newest launch error, errors how many there were in a row
	// before it.
	last   Refusal
	errors int
}

// Refuse notes that an offer was refused. Where that leaves no offer to try, it
// is a launch error.
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

// coolOff leaves alone what a refusal is about. One that comes while another
// stands belongs to a call that was under way then, and is not noted.
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
	if before.Times < 20 { // beyond it the shift would overflow, and most is reached long before
		wait = min(b.most, b.first<<before.Times)
	}
	if t := f.Limits.ErrorTimeout; t > 0 {
		// Else errors would always be older than the time they are remembered
		// for, and never count.
		wait = min(wait, max(t/2, b.first))
	}
	r.Until = now.Add(wait)
	s.recordRefusal(b.scope, r)
	return r, true
}

// Grant notes that an offer gave machines. What is broken has to join first.
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

// clearFor notes that a machine of an offer has joined and is what was paid for.
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

// longestRefusal is the refusal that stands longest against an offer; its zero value
// stands against nothing.
func (s *Refusals) longestRefusal(o cloud.Offer, now time.Time) Refusal {
	var worst Refusal
	for _, r := range []Refusal{s.offers[o], s.prices[o.Price], s.pool} {
		if r.Until.After(now) && r.Until.After(worst.Until) {
			worst = r
		}
	}
	return worst
}

// chooseOffer is the first offer that nothing stands against. Without one it is the
// refusal that ends first.
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

// Shown is the launch error that fails tasks, if there is one.
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

// Held is the refusal that keeps an open launch from being sent again, if there
// is one.
func (f *Fleet) Held(now time.Time) (Refusal, bool) {
	for _, token := range slices.Sorted(maps.Keys(f.Launches)) {
		l := f.Launches[token]
		if r := f.Refusals.longestRefusal(l.Offer, now); l.Until.IsZero() && !r.Until.IsZero() {
			return r, true
		}
	}
	return Refusal{}, false
}

// Standing lists the refusals that keep offers away now, the pool's first, then
// by offer in the pool's order.
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
