package journal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/det-deploy/det-deploy/cloud/host/journal"
)

// kept is a fake sink that stores events by stream. It returns refuse if that is set.
type kept struct {
	mu      sync.Mutex // guards all fields
	streams map[string][]string
	refuse  func(stream string) error
	calls   int
}

func (k *kept) Put(_ context.Context, stream string, events []journal.Event) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if k.refuse != nil {
		if err := k.refuse(stream); err != nil {
			return err
		}
	}
	if k.streams == nil {
		k.streams = map[string][]string{}
	}
	for _, e := range events {
		k.streams[stream] = append(k.streams[stream], e.Text)
	}
	return nil
}

// machine is a fake journal that can be appended to, and followed from any cursor.
type machine struct {
	lines  []string
	opened []string
	gone   bool // whether the cursor is no longer in the journal
	w      *io.PipeWriter
}

func (m *machine) open(_ context.Context, cursor string) (io.ReadCloser, error) {
	m.opened = append(m.opened, cursor)
	r, w := io.Pipe()
	m.w = w
	lines := m.lines
	if m.gone && cursor != "" {
		go func() { _ = w.CloseWithError(errors.New("cannot seek to cursor")) }()
		return r, nil
	}
	for i, l := range m.lines {
		if cursor != "" && strings.Contains(l, `"`+cursor+`"`) {
			lines = m.lines[i+1:]
		}
	}
	go func() {
		for _, l := range lines {
			if _, err := io.WriteString(w, l+"\n"); err != nil {
				return
			}
		}
	}()
	return r, nil
}

func line(n int, unit, message string) string {
	return fmt.Sprintf(`{"__CURSOR":"c%d","__REALTIME_TIMESTAMP":"%d","_SYSTEMD_UNIT":%q,"SYSLOG_IDENTIFIER":"x","MESSAGE":%s}`, n, n*1_000_000, unit, message)
}

// held calls look under the lock.
func (k *kept) held(look func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	look()
}

func ship(t *testing.T, m *machine, k *kept, file string, log *slog.Logger) (stop func()) {
	t.Helper()
	s, err := journal.New(journal.Config{Instance: "i-1", Sink: k, Open: m.open, CursorFile: file, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestShipperSendsEveryLineToItsStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "cursor")
		m, k := &machine{lines: []string{
			line(1, "det-deploy-master.service", `"the master serves"`),
			line(2, "ssh.service", `"accepted"`),
			line(3, "det-deploy-host.service", `[104,105,255]`),
			line(4, "", `null`),
			"not JSON",
			line(5, "ssh.service", `["twice","said"]`),
		}}, &kept{}
		stop := ship(t, m, k, file, slog.New(slog.DiscardHandler))
		time.Sleep(6 * time.Second) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		want := map[string][]string{
			"i-1/det-deploy-master": {"the master serves"},
			"i-1/det-deploy-host":   {"hi\uFFFD"},
			"i-1/journal":           {"x: accepted", "x: twice"},
		}
		k.held(func() {
			if d := cmp.Diff(k.streams, want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
		_, _ = io.WriteString(m.w, line(6, "det-deploy-master.service", `"the end"`)+"\n")
		synctest.Wait()
		stop()
		if got := k.streams["i-1/det-deploy-master"]; len(got) != 2 {
			t.Errorf("got %q, want that the last line is carried before it ends", got)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != "c6\n" {
			t.Errorf("got cursor %q, %v; want c6", got, err)
		}
	})
}

func TestShipperResumesAtCursor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "cursor")
		m, k := &machine{lines: []string{line(1, "a", `"one"`), line(2, "a", `"two"`)}}, &kept{}
		for range 2 {
			stop := ship(t, m, k, file, slog.New(slog.DiscardHandler))
			time.Sleep(6 * time.Second) //nolint:forbidigo // synctest's clock
			synctest.Wait()
			stop()
			m.lines = append(m.lines, line(3, "a", `"three"`))
		}
		if d := cmp.Diff(k.streams["i-1/journal"], []string{"x: one", "x: two", "x: three"}); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
		if d := cmp.Diff(m.opened, []string{"", "c2"}); d != "" {
			t.Errorf("opened: got -, want +:\n%s", d)
		}
	})
}

func TestSinkErrorIsLoggedOnceAndLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		m := &machine{lines: []string{line(1, "a", `"one"`), line(2, "det-deploy-master.service", `"two"`)}}
		denied := errors.New("logs:PutLogEvents: not authorized")
		k := &kept{refuse: func(stream string) error {
			if stream == "i-1/journal" {
				return denied
			}
			return nil
		}}
		stop := ship(t, m, k, filepath.Join(t.TempDir(), "cursor"), slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(time.Hour) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		if n := strings.Count(log.String(), "logs:PutLogEvents"); n != 1 {
			t.Errorf("got it logged %d times, want once:\n%s", n, log.String())
		}
		k.held(func() {
			if k.calls > 25 {
				t.Errorf("got %d calls in an hour, want that it backs off", k.calls)
			}
			denied = nil
		})
		time.Sleep(6 * time.Minute) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		stop()
		want := map[string][]string{"i-1/journal": {"x: one"}, "i-1/det-deploy-master": {"two"}}
		if d := cmp.Diff(k.streams, want); d != "" {
			t.Errorf("got -, want + (each once):\n%s", d)
		}
	})
}

func TestMissingCursorRestartsFromBoot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "cursor")
		if err := os.WriteFile(file, []byte("old\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		m, k := &machine{gone: true, lines: []string{line(1, "a", `"one"`)}}, &kept{}
		stop := ship(t, m, k, file, slog.New(slog.DiscardHandler))
		time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock
		synctest.Wait()
		stop()
		if d := cmp.Diff(k.streams["i-1/journal"], []string{"x: one"}); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
	})
}

func TestSplitKeepsCallLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 300<<10), 0, 40).Draw(t, "sizes")
		hours := rapid.SliceOfN(rapid.IntRange(0, 100), len(sizes), len(sizes)).Draw(t, "hours")
		var events []journal.Event
		want := 0
		for i, size := range sizes {
			events = append(events, journal.Event{At: time.Unix(int64(hours[i])*3600, 0), Text: strings.Repeat("x", size)})
			if size > 0 {
				want++
			}
		}
		got := 0
		for _, batch := range journal.Split(events) {
			bytes := 0
			for i, e := range batch {
				bytes += len(e.Text) + 26
				if i > 0 && e.At.Before(batch[i-1].At) {
					t.Fatalf("got %s after %s, want them in order", e.At, batch[i-1].At)
				}
			}
			if len(batch) == 0 || len(batch) > 10_000 || bytes > 1<<20 || batch[len(batch)-1].At.Sub(batch[0].At) >= 24*time.Hour {
				t.Fatalf("got %d events of %d bytes over %s, want what one call takes", len(batch), bytes, batch[len(batch)-1].At.Sub(batch[0].At))
			}
			got += len(batch)
		}
		if got != want {
			t.Fatalf("got %d events, want %d", got, want)
		}
	})
	many := make([]journal.Event, 25_000)
	for i := range many {
		many[i].Text = "x"
	}
	if got := len(journal.Split(many)); got != 3 {
		t.Errorf("got %d batches of 25,000 events, want 3", got)
	}
	if got := journal.Split([]journal.Event{{Text: strings.Repeat("ä", 200<<10)}}); !strings.HasSuffix(got[0][0].Text, "ä") || len(got[0][0].Text) < 255<<10 {
		t.Errorf("got %d bytes, want a text cut between characters", len(got[0][0].Text))
	}
}
