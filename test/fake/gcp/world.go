// Package gcptest is Google in memory: an http.Handler whose services answer the
// client libraries that Google generates, over an http.RoundTripper that needs no
// socket, or over loopback. Every request and every answer is held against the
// discovery documents that google.golang.org/api ships, and what is not in them
// fails the test. It keeps the rules that an installer stumbles over: operations
// that end in an error, names that stay taken, etags and generations, policies that
// count later, lists that lag; and it fails at whichever call a test asks for. Only
// tests may import it.
package gcptest

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/monitoring/v3"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Project is whose world it is, and Number its number.
const (
	Project = "acme-ml"
	Number  = 415104041262
)

// Owner is who calls unless another caller is named: it may do everything.
const Owner = "user:owner@example.com"

// Options is what a world is like. The zero value is a world that answers at once,
// whose operations are done when they are next looked at, and whose lists are
// always right.
type Options struct {
	// Page is how many objects a list returns at most; 3 when zero, so that a
	// client that does not page is noticed.
	Page int
	// Latency is how long each request is on its way.
	Latency time.Duration
	// Operation is how long a compute operation runs.
	Operation time.Duration
	// Provisioning and Staging are how long a machine is in these states before it
	// runs, and Stopping how long it is stopping.
	Provisioning, Staging, Stopping time.Duration
	// Lag is how long a list stays as it was after a change. Objects that are asked
	// for by name are not concerned.
	Lag time.Duration
	// NewAccount is how long a new service account is unknown to other services.
	NewAccount time.Duration
	// PolicyLag is how long a changed policy does not count yet.
	PolicyLag time.Duration
	// ObjectInterval is how long after a write an object refuses the next one, and
	// BucketInterval the same for making and removing buckets in a project.
	ObjectInterval, BucketInterval time.Duration
	// QuotaAtOnce refuses an instance beyond the quota in the call's answer instead
	// of in its operation.
	QuotaAtOnce bool
	// InUseLater refuses to delete what is in use in the operation instead of in the
	// call's answer.
	InUseLater bool
	// IgnoreFilters answers lists as if they had no filter.
	IgnoreFilters bool
	// Foreign is for clients that are not ours: query parameters that the pinned
	// documents lack are taken.
	Foreign bool
	// Loopback gives addresses of the test's own machine in place of external ones, for
	// programs that dial them: nothing is sent anywhere else.
	Loopback bool
	// NoServices leaves every API but Service Usage and Resource Manager disabled.
	NoServices bool
}

// World is Google. Make a new one for each test. It is safe for concurrent calls.
type World struct {
	// Guarded is which calls fail, and the journal.
	faults.Guarded

	tb   testing.TB
	docs *documents
	acts map[string]act

	mu       sync.Mutex // guards everything below
	opt      Options
	ahead    time.Duration
	moved    chan struct{} // closed when the clock was moved
	serial   uint64
	changed  int // counts changes, so that a list can be stale by one
	projects map[string]*project
	callers  map[string]*Caller // by token
	attempts map[string]*attempt
	access   access
	engine   engine
	stores   stores
	vault    vault
	logs     logs
	metrics  metrics
	// enablings are the operations of Service Usage.
	enablings map[string]*enabling
}

// New makes a world with a project that has what a new one has, and every API that
// det-deploy needs enabled.
func New(tb testing.TB, o Options) *World {
	tb.Helper()
	docs, err := loadDocuments(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if o.Page == 0 {
		o.Page = 3
	}
	w := &World{
		tb: tb, docs: docs, opt: o, moved: make(chan struct{}), serial: 1000,
		projects: make(map[string]*project), callers: make(map[string]*Caller), attempts: make(map[string]*attempt),
	}
	w.acts = allActs()
	w.access = newAccess(w)
	w.engine = newEngine(w)
	w.stores = newStores(w)
	w.vault = vault{secrets: newTable[secret](w)}
	w.metrics = metrics{points: make(map[string][]*monitoring.TimeSeries), ends: make(map[string]time.Time)}
	w.enablings = make(map[string]*enabling)

	w.addPublicImages()
	w.AddProject(Project, Number)
	return w
}

// Now is the world's time: the machine's clock, and what Advance added to it. In a
// synctest bubble it is the bubble's.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now()
}

func (w *World) now() time.Time { return time.Now().Add(w.ahead).UTC() }

// stamp is the time as Google writes it.
func (w *World) stamp() string { return w.now().Format("2006-01-02T15:04:05.000000Z07:00") }

// Advance moves the world's clock.
func (w *World) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
	close(w.moved)
	w.moved = make(chan struct{})
}

// Tune changes the options of a world that is in use, such as its lags.
func (w *World) Tune(f func(*Options)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.opt)
}

// Revive lets a new process make calls, without faults.
func (w *World) Revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Guarded.Revive()
	clear(w.attempts)
}

// Sleep waits by moving the world's clock; it is for waiters that take their sleep
// as a parameter.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	w.Advance(d)
	return ctx.Err()
}

// nextID is a number that no other object has.
func (w *World) nextID() uint64 {
	w.serial++
	return 4_000_000_000_000_000_000 + w.serial
}
