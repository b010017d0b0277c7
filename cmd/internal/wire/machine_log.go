package wire

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// MachineLog is one line that a machine of a cluster wrote.
type MachineLog struct {
	Time time.Time `json:"time"`
	// Instance is the machine, and Unit what of it wrote.
	Instance string `json:"instance"`
	Unit     string `json:"unit"`
	Message  string `json:"message"`
}

// MachineLogQuery chooses lines of a cluster's machines.
type MachineLogQuery struct {
	// Unit is the end of a stream's name: "det-deploy-master"; all when empty.
	Unit string
	// Instance is one machine; all when empty.
	Instance string
	Since    time.Time
	Follow   bool
}

const (
	// followPause is how often a followed log is asked for: a cloud takes some seconds to
	// show a line, and CloudWatch answers an account five such questions a second.
	followPause = 3 * time.Second
	// late is how much later than younger ones a line may show.
	late = 30 * time.Second
)

// MachineLogs reads lines of a cloud's log since a time, and shows each with the ID that
// the cloud has given it.
type MachineLogs func(ctx context.Context, since time.Time, show func(id string, l MachineLog)) error

// Follow gives each the lines that q chooses, once and oldest first. With q.Follow it
// waits for more until ctx ends.
func (read MachineLogs) Follow(ctx context.Context, q MachineLogQuery, each func(MachineLog)) error {
	f := &following{query: q, seen: make(map[string]time.Time), each: each}
	for {
		if err := read(ctx, f.since(), f.showLine); err != nil {
			return err
		}
		if !q.Follow {
			return nil
		}
		f.forgetOld()
		if wait.For(ctx, followPause) != nil {
			return nil //nolint:nilerr // stopping is how following ends
		}
	}
}

// following is a log under way: a line is shown once, also when it turns up late.
type following struct {
	query MachineLogQuery
	each  func(MachineLog)
	// seen holds the IDs of the lines shown that may still be listed again.
	seen   map[string]time.Time
	newest time.Time
}

// since is from when on lines may be new.
func (f *following) since() time.Time {
	if from := f.newest.Add(-late); from.After(f.query.Since) {
		return from
	}
	return f.query.Since
}

func (f *following) showLine(id string, l MachineLog) {
	if f.query.Unit != "" && l.Unit != f.query.Unit {
		return
	}
	if _, shown := f.seen[id]; shown && id != "" {
		return
	}
	f.seen[id] = l.Time
	if l.Time.After(f.newest) {
		f.newest = l.Time
	}
	f.each(l)
}

func (f *following) forgetOld() {
	for id, at := range f.seen {
		if at.Before(f.newest.Add(-2 * late)) {
			delete(f.seen, id)
		}
	}
}
