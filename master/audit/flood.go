package audit

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/protobuf/types/known/timestamppb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The number of individual entries before further ones are only counted. A user who makes mistakes
// stays below these limits, but a program that guesses passwords, or kills its own tasks in a loop,
// must not fill the store. At most some 14,000 refusals per day are individual entries.
const (
	refusedAtOnce     = 200
	refusedEvery      = 6 * time.Second
	refusedFromOne    = 20
	refusedFromOneNow = time.Minute
	doneByOne         = 100
	doneByOneNow      = time.Second
	// mostCounted is the maximum number of addresses, and of users, with their own counters.
	mostCounted = 1000
	// mostNamed is the number of them that an entry names.
	mostNamed = 5
)

// flood decides which entries are stored and which are only counted.
type flood struct {
	mu      sync.Mutex // guards the following fields
	refused *rate.Limiter
	from    map[string]*rate.Limiter // refusals by address
	by      map[string]*rate.Limiter // completed actions by user
	counted map[kind]*tally
}

// kind is a combination of action and outcome with its own count.
type kind struct{ action, outcome string }

// tally is the count of one kind.
type tally struct {
	count     int32
	addresses map[string]int
}

func newFlood() *flood {
	return &flood{
		refused: rate.NewLimiter(rate.Every(refusedEvery), refusedAtOnce),
		from:    map[string]*rate.Limiter{}, by: map[string]*rate.Limiter{}, counted: map[kind]*tally{},
	}
}

// admitEntry reports whether e is stored individually; otherwise it counts e. Actions of
// administrators are always stored.
func (f *flood) admitEntry(e *apiv1.AuditEntry, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.GetOutcome() == Done {
		if e.GetAdmin() || e.GetUser() == "" {
			return true
		}
		if limiterFor(f.by, e.GetUser(), doneByOneNow, doneByOne, now).AllowN(now, 1) {
			return true
		}
	} else if limiterFor(f.from, e.GetAddress(), refusedFromOneNow, refusedFromOne, now).AllowN(now, 1) && f.refused.AllowN(now, 1) {
		return true
	}
	f.countEntry(e)
	return false
}

// limiterFor returns the limiter of key and creates it if needed. If the map is full, it drops the
// limiters without recent use; if none can be dropped, all other keys share one.
func limiterFor(of map[string]*rate.Limiter, key string, every time.Duration, burst int, now time.Time) *rate.Limiter {
	if l, found := of[key]; found {
		return l
	}
	if len(of) >= mostCounted {
		maps.DeleteFunc(of, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(burst) })
	}
	if len(of) >= mostCounted {
		key = ""
		if l, found := of[key]; found {
			return l
		}
	}
	of[key] = rate.NewLimiter(rate.Every(every), burst)
	return of[key]
}

func (f *flood) countEntry(e *apiv1.AuditEntry) {
	k := kind{e.GetAction(), e.GetOutcome()}
	t := f.counted[k]
	if t == nil {
		t = &tally{addresses: map[string]int{}}
		f.counted[k] = t
	}
	t.count++
	if _, found := t.addresses[e.GetAddress()]; found || len(t.addresses) < mostCounted {
		t.addresses[e.GetAddress()]++
	}
}

// takeCounted returns an entry for each kind that was counted since the last call.
func (f *flood) takeCounted(now time.Time) []*apiv1.AuditEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*apiv1.AuditEntry
	for k, t := range f.counted {
		out = append(out, &apiv1.AuditEntry{
			Time: timestamppb.New(now), Action: k.action, Outcome: k.outcome, Count: t.count, Details: t.describeAddresses(),
		})
	}
	clear(f.counted)
	slices.SortFunc(out, func(a, b *apiv1.AuditEntry) int {
		return cmp.Or(strings.Compare(a.GetAction(), b.GetAction()), strings.Compare(a.GetOutcome(), b.GetOutcome()))
	})
	return out
}

// describeAddresses names the addresses with the highest counts.
func (t *tally) describeAddresses() string {
	names := slices.SortedFunc(maps.Keys(t.addresses), func(a, b string) int {
		return cmp.Or(t.addresses[b]-t.addresses[a], strings.Compare(a, b))
	})
	var parts []string
	for _, n := range names[:min(len(names), mostNamed)] {
		parts = append(parts, fmt.Sprintf("%s (%d)", n, t.addresses[n]))
	}
	text := fmt.Sprintf("not recorded individually: %d from %s", t.count, strings.Join(parts, ", "))
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d others", more)
	}
	return text
}
