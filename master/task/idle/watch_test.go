package idle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
)

// fake keeps what was done to tasks.
type fake struct {
	done []string
	err  error
}

func (f *fake) WarnIdle(_ context.Context, _ rm.AllocationID, text string) error {
	f.done = append(f.done, text)
	return f.err
}

func (f *fake) EndIdle(_ context.Context, _ rm.AllocationID, reason string) error {
	f.done = append(f.done, reason)
	return f.err
}

func TestWatch(t *testing.T) {
	t.Parallel()
	f, now, visits := &fake{}, at(0), 0
	w := NewWatch(Config{Tasks: f, Visits: func(rm.ContainerID) int { return visits }, Now: func() time.Time { return now }})
	task := Task{Allocation: "a", Container: "c", IdleTimeout: time.Hour}
	const warning, end = "Unused: it will be ended in 5m0s. Use it", "ended after 1h0m0s of silence"
	for _, step := range []struct {
		name    string
		minute  int
		prepare func()
		want    string
	}{
		{"seen", 0, func() {}, ""},
		{"ready", 54, func() { task.Ready = true }, ""},
		{"as long after it", 113, func() {}, warning},
		{"visited", 113, func() { w.Visited("c") }, ""},
		{"another is visited", 168, func() { w.Visited("b") }, warning},
		{"a visit is open", 169, func() { visits = 1 }, ""},
		{"it has ended", 170, func() { visits = 0 }, ""},
		{"used long ago", 170, func() { w.Used("c", at(3)) }, ""},
		{"the store is full", 224, func() { f.err = errors.New("full") }, warning},
		{"it has room", 225, func() { f.err = nil }, warning},
		{"warned", 226, func() {}, ""},
		{"the end", 230, func() {}, end},
		{"it takes a while", 231, func() {}, end},
		{"without a limit", 500, func() { task.IdleTimeout = 0 }, ""},
	} {
		now, f.done = at(step.minute), nil
		step.prepare()
		w.SetRunning([]Task{task})
		err := w.Judge(t.Context(), task, Ground{"Unused", "Use it", "of silence"})
		if got := strings.Join(f.done, "; "); got != step.want || !errors.Is(err, f.err) {
			t.Errorf("%s: got %q and %v, want %q", step.name, got, err, step.want)
		}
	}
	w.SetRunning(nil)
	if w.Visited("c"); len(w.of) != 0 {
		t.Errorf("got %v, want that ended tasks are forgotten", w.of)
	}
}
