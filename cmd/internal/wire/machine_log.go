package wire

import (
	"context"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// MachineLog is a log line of a machine.
type MachineLog struct {
	Time time.Time `json:"time"`
	// Instance is the machine, and Unit the systemd unit that wrote the line.
	Instance string `json:"instance"`
	Unit     string `json:"unit"`
	Message  string `json:"message"`
}

// MachineLogQuery selects log lines of a cluster's machines.
type MachineLogQuery struct {
	// Unit is the suffix of a log stream's name, such as "det-deploy-master"; empty selects all.
	Unit string
	// Instance is the machine; empty selects all.
	Instance string
	Since    time.Time
	Follow   bool
}

const (
	// followPause is the polling interval of a followed log. Clouds publish a line after some seconds, and
	// CloudWatch allows an account five such requests per second.
	followPause = 3 * time.Second
	// late is the maximum delay with which a line may appear after newer ones.
	late = 30 * time.Second
)

// MachineLogs reads the lines of a cloud's log since a time, and calls show with each line and its ID.
type MachineLogs func(ctx context.Context, since time.Time, show func(id string, l MachineLog)) error

// Follow calls each once for every line that q selects, oldest first. With q.Follow it waits for further
// lines until ctx ends.
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
			return nil //nolint:nilerr // an interrupt ends following without an error
		}
	}
}

// following is the state of a followed log. It ensures that a late line is shown, and no line twice.
type following struct {
	query MachineLogQuery
	each  func(MachineLog)
	// seen holds the IDs of shown lines that the next read may return again.
	seen   map[string]time.Time
	newest time.Time
}

// since returns the time from which the next read starts.
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
