package tensorboard

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task/idle"
)

// served are running TensorBoards and what was done to them.
type served struct {
	boards []idle.Task
	done   []string
}

func (s *served) Boards() []idle.Task { return slices.Clone(s.boards) }

func (s *served) WarnIdle(_ context.Context, id rm.AllocationID, text string) error {
	s.done = append(s.done, "warn "+string(id)+": "+text)
	return nil
}

func (s *served) EndIdle(_ context.Context, id rm.AllocationID, reason string) error {
	s.done = append(s.done, "end "+string(id)+": "+reason)
	s.boards = slices.DeleteFunc(s.boards, func(b idle.Task) bool { return b.Allocation == id })
	return nil
}

func TestUnusedTensorBoardsEnd(t *testing.T) {
	t.Parallel()
	s := &served{}
	for _, name := range []string{"unused", "visited", "open"} {
		s.boards = append(s.boards, idle.Task{Allocation: rm.AllocationID(name), Container: rm.ContainerID(name), IdleTimeout: 5 * time.Minute, Ready: true})
	}
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	w := NewWatch(WatchConfig{
		Tasks: s, Now: func() time.Time { return now },
		Visits: func(c rm.ContainerID) int { return map[rm.ContainerID]int{"open": 1}[c] },
	})
	look := func(after time.Duration) {
		now = now.Add(after)
		w.lookAtAll(t.Context())
	}
	look(0)
	w.Visited("another container")
	look(2 * time.Minute)
	w.Visited("visited")
	look(time.Minute)
	look(2 * time.Minute)
	want := []string{
		"warn unused: Nobody uses this TensorBoard: it will be ended in 2m30s. Open its page to keep it",
		"warn visited: Nobody uses this TensorBoard: it will be ended in 2m30s. Open its page to keep it",
	}
	if !slices.Equal(s.done, want) {
		t.Errorf("got %q, want %q", s.done, want)
	}
	w.Visited("visited")
	look(30 * time.Second)
	if want = append(want, "end unused: ended after 5m0s without use (idle_timeout)"); !slices.Equal(s.done, want) {
		t.Errorf("got %q, want %q", s.done, want)
	}
}

// One without anything to show ends when clients no longer wait for it, and has its whole time once it is ready.
func TestTensorBoardsThatWaitForMetricsEnd(t *testing.T) {
	t.Parallel()
	s := &served{boards: []idle.Task{
		{Allocation: "empty", Container: "empty", IdleTimeout: 5 * time.Minute},
		{Allocation: "late", Container: "late", IdleTimeout: 5 * time.Minute},
	}}
	now := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	w := NewWatch(WatchConfig{Tasks: s, Now: func() time.Time { return now }, Visits: func(rm.ContainerID) int { return 0 }})
	look := func(after time.Duration) {
		now = now.Add(after)
		w.lookAtAll(t.Context())
	}
	look(0)
	look(24 * time.Minute)
	s.boards[1].Ready = true
	look(time.Minute)
	want := []string{"warn empty: Nobody uses this TensorBoard: it will be ended in 5m0s. Open its page to keep it"}
	if !slices.Equal(s.done, want) {
		t.Errorf("got %q, want %q", s.done, want)
	}
	look(5 * time.Minute)
	want = append(want, "end empty: ended after 30m0s without metrics to show", "warn late: Nobody uses this TensorBoard: it will be ended in 2m30s. Open its page to keep it")
	if !slices.Equal(s.done, want) {
		t.Errorf("got %q, want %q", s.done, want)
	}
}
