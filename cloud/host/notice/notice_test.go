package notice_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/notice"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// told is what a machine is told, by path.
type told struct {
	mu    sync.Mutex
	paths map[string]string
}

func (d *told) Get(_ context.Context, path string) (string, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, found := d.paths[path]
	return text, found, nil
}

func (d *told) tell(path, text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paths[path] = text
}

func TestEachNoticeIsToldOnceAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &told{paths: map[string]string{}}
		w := notice.New(d, slog.New(slog.DiscardHandler), time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		short, stop := context.WithTimeout(ctx, time.Minute)
		if n, found := w.Next(short, 0); found {
			t.Errorf("got %+v, want that none came", n)
		}
		stop()
		start := time.Now()
		d.tell("events/recommendations/rebalance", `{"noticeTime":"2030-01-02T03:04:05Z"}`)
		first, _ := w.Next(ctx, 0)
		if took := time.Since(start); took > notice.Every {
			t.Errorf("got it after %s, want at the next look", took)
		}
		d.tell("spot/instance-action", `{"action":"terminate","time":"2030-01-02T03:09:05Z"}`)
		second, _ := w.Next(ctx, first.N)
		for i, want := range []machine.Notice{
			{Kind: machine.Rebalance, At: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "spot rebalance recommendation"},
			{Kind: machine.Interruption, At: time.Date(2030, 1, 2, 3, 9, 5, 0, time.UTC), Reason: "spot interruption: terminate"},
		} {
			got := []machine.Notice{first, second}[i]
			want.N = got.N
			if d := cmp.Diff(got, want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		}
		if again, _ := w.Next(ctx, 0); again != first {
			t.Errorf("got %+v, want that who asks again is told the same", again)
		}
		short, stop = context.WithTimeout(ctx, time.Minute)
		if n, found := w.Next(short, second.N); found {
			t.Errorf("got %+v, want that what stays there is no news", n)
		}
		stop()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
