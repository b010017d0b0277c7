// Package gcptest is an in-memory fake of Google Cloud: an http.Handler that serves Google's
// generated client libraries, in process through an http.RoundTripper or over a loopback
// connection. It validates every request and response against the discovery documents of
// google.golang.org/api, and a violation fails the test. It implements the behavior that affects an
// installer: operations that fail, names that remain in use, etags and generations, delayed policy
// changes, lists that lag; and it can inject a fault into any call. Only tests may import it.
package gcptest

import (
	"context"
	"sync"
	"testing"
	"time"

	"google.golang.org/api/monitoring/v3"

	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Project and Number are the ID and number of the world's project.
const (
	Project = "acme-ml"
	Number  = 415104041262
)

// Owner is the default caller, which has all permissions.
const Owner = "user:owner@example.com"

// Options configures a world. In the zero value, calls return at once, operations are done at the
// next poll, and lists are always up to date.
type Options struct {
	// Page is the maximum number of objects per page. Zero means 3, so that clients without paging
	// fail.
	Page int
	// Latency is the latency of each request.
	Latency time.Duration
	// Operation is the duration of a Compute Engine operation.
	Operation time.Duration
	// Provisioning and Staging are the durations of these states before an instance is running,
	// Stopping the duration of stopping.
	Provisioning, Staging, Stopping time.Duration
	// Lag is the delay of lists after a change. Reads by name are not affected.
	Lag time.Duration
	// NewAccount is the time for which a new service account is unknown to other services.
	NewAccount time.Duration
	// PolicyLag is the delay until a policy change takes effect.
	PolicyLag time.Duration
	// ObjectInterval is the minimum interval between writes to an object, BucketInterval the
	// minimum interval between creations and deletions of buckets in a project.
	ObjectInterval, BucketInterval time.Duration
	// QuotaAtOnce reports exceeded quotas of instances in the response to the call and not in its
	// operation.
	QuotaAtOnce bool
	// InUseLater reports that an object is in use in the operation and not in the response to the
	// call.
	InUseLater bool
	// IgnoreFilters ignores the filters of lists.
	IgnoreFilters bool
	// Foreign is set for third-party clients: query parameters that are missing in the pinned
	// documents are accepted.
	Foreign bool
	// Loopback replaces external addresses by loopback addresses, for programs that connect to
	// them. No traffic leaves the host.
	Loopback bool
	// NoServices disables every API except Service Usage and Resource Manager.
	NoServices bool
}

// World is a fake Google Cloud. Create a new one for each test. It is safe for concurrent use.
type World struct {
	// Guarded holds the scheduled faults and the journal.
	faults.Guarded

	tb   testing.TB
	docs *documents
	acts map[string]act

	mu       sync.Mutex // guards all fields below
	opt      Options
	ahead    time.Duration
	moved    chan struct{} // closed when the clock is moved
	serial   uint64
	changed  int // number of changes, so that a list can be stale by one
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

	creations []Creation
	objects   map[string]any // by path, as stored
	added     []string       // by the current call
	altered   int            // number of altered fields
}

// New returns a world with a new project in which all APIs that det-deploy needs are enabled.
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
		objects: make(map[string]any),
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

// Now returns the world's time: the system clock plus the time added by Advance. In a synctest
// bubble, it uses the bubble's clock.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now()
}

func (w *World) now() time.Time { return time.Now().Add(w.ahead).UTC() }

// stamp formats the current time like Google.
func (w *World) stamp() string { return w.now().Format("2006-01-02T15:04:05.000000Z07:00") }

// Advance moves the world's clock.
func (w *World) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
	close(w.moved)
	w.moved = make(chan struct{})
}

// Tune changes the options of a world in use, such as its lags.
func (w *World) Tune(f func(*Options)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.opt)
}

// Revive simulates a new process, without faults.
func (w *World) Revive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Guarded.Revive()
	clear(w.attempts)
}

// Sleep moves the world's clock. It is for waiters with a configurable sleep function.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	w.Advance(d)
	return ctx.Err()
}

// nextID returns a unique numeric ID.
func (w *World) nextID() uint64 {
	w.serial++
	return 4_000_000_000_000_000_000 + w.serial
}
