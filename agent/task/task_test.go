package task

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/journal"
)

// A disk may be slow to free space; meanwhile sessions read the state of the task.
func TestRoomOfLinesIsGivenBackWithoutTheUnitsLock(t *testing.T) {
	t.Parallel()
	j, err := journal.Open(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]container.Line, 1025)
	for i := range lines {
		lines[i].Text = bytes.Repeat([]byte("x"), 8<<10)
	}
	// The journal cannot free space, and logs that immediately.
	if err := errors.Join(j.Append(lines), j.Close()); err != nil {
		t.Fatal(err)
	}
	u := &Task{Journal: j}
	told := &lockSeer{unit: u}
	u.Log = slog.New(told)
	u.AckLogs(j.Next())
	if told.lines != 1 || told.locked {
		t.Errorf("got %d lines in the log, and the unit locked: %v", told.lines, told.locked)
	}
	if got := u.View().Acked; got != j.Next() {
		t.Errorf("got %d lines acknowledged, want all", got)
	}
}

// lockSeer is a log handler that checks whether the task is locked.
type lockSeer struct {
	unit   *Task
	lines  int
	locked bool
}

func (s *lockSeer) Enabled(context.Context, slog.Level) bool { return true }
func (s *lockSeer) WithAttrs([]slog.Attr) slog.Handler       { return s }
func (s *lockSeer) WithGroup(string) slog.Handler            { return s }

func (s *lockSeer) Handle(context.Context, slog.Record) error {
	s.lines++
	if !s.unit.mu.TryLock() {
		s.locked = true
		return nil
	}
	s.unit.mu.Unlock()
	return nil
}
