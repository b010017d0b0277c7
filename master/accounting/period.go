package accounting

import (
	"sort"
	"time"
)

// Period is the length of the intervals of a report.
type Period string

// The periods, by calendar in UTC.
const (
	Daily   Period = "daily"
	Monthly Period = "monthly"
)

// Layout returns the time layout of a period's start.
func (p Period) Layout() string {
	if p == Monthly {
		return "2006-01"
	}
	return time.DateOnly
}

// begin returns the start of the period that contains at.
func (p Period) begin(at time.Time) time.Time {
	y, m, d := at.UTC().Date()
	if p == Monthly {
		d = 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// Next returns the start of the period after the one that contains at.
func (p Period) Next(at time.Time) time.Time {
	if p == Monthly {
		return p.begin(at).AddDate(0, 1, 0)
	}
	return p.begin(at).AddDate(0, 0, 1)
}

// Sum is the slot time in one period, in total and by owner. A slot may count for several labels,
// or for none.
type Sum struct {
	Start                   time.Time
	Total                   time.Duration
	ByUser, ByPool, ByLabel map[string]time.Duration
}

// Range is the sequence of periods from the one that contains First to the one that contains Last.
type Range struct {
	Period      Period
	First, Last time.Time
}

// Add sums entries by period. Labels returns the labels of an entry. Entries that have not ended
// count up to now.
func Add(list []Entry, r Range, now time.Time, labels func(Entry) []string) []Sum {
	p := r.Period
	var out []Sum
	for at := p.begin(r.First); !at.After(r.Last); at = p.Next(at) {
		out = append(out, Sum{Start: at, ByUser: map[string]time.Duration{}, ByPool: map[string]time.Duration{}, ByLabel: map[string]time.Duration{}})
	}
	for _, e := range list {
		begun := sort.Search(len(out), func(i int) bool { return p.Next(out[i].Start).After(e.Start) })
		for i := begun; i < len(out) && (e.End.IsZero() || out[i].Start.Before(e.End)); i++ {
			out[i].add(e, e.SlotTime(out[i].Start, earlier(p.Next(out[i].Start), now)), labels)
		}
	}
	return out
}

func (s *Sum) add(e Entry, t time.Duration, labels func(Entry) []string) {
	if t == 0 {
		return
	}
	s.Total += t
	s.ByUser[e.Username] += t
	s.ByPool[e.Pool] += t
	for _, l := range labels(e) {
		s.ByLabel[l] += t
	}
}
