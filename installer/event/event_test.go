package event_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/event"
)

func TestJSONWritesOneObjectPerLine(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := event.JSON(&b)
	s.Emit(event.Event{Type: event.Started, Scope: event.Step, Subject: "local/data", Verb: "create"})
	s.Emit(event.Event{Type: event.Done, Scope: event.Step, Subject: "local/data", Verb: "create", Took: 3, Ended: 1, Total: 2})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("got %d lines, want 2", len(lines))
	}
	var got event.Event
	if err := json.Unmarshal([]byte(lines[1]), &got); err != nil {
		t.Fatalf("read back: %v", err)
	}
	if got.Time.IsZero() {
		t.Error("got no time")
	}
	got.Time = time.Time{}
	want := event.Event{
		Schema: event.Schema, Type: event.Done, Scope: event.Step,
		Subject: "local/data", Verb: "create", Took: 3, Ended: 1, Total: 2,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestNilSinkDropsEvents(t *testing.T) {
	t.Parallel()
	var s event.Sink
	s.Emit(event.Event{Type: event.Done})
	event.Serial(s).Emit(event.Event{Type: event.Done})
}

func TestSerialPassesOneEventAtATime(t *testing.T) {
	t.Parallel()
	n := 0 // not synchronized: Serial must do that
	s := event.Serial(func(event.Event) { n++ })
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { s.Emit(event.Event{Type: event.Progress}) })
	}
	wg.Wait()
	if n != 50 {
		t.Errorf("got %d events, want 50", n)
	}
}
