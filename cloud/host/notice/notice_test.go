package notice_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/host/notice"
	"github.com/det-deploy/det-deploy/cloud/machine"
)

// told is a fake source of notices.
type told struct {
	mu      sync.Mutex // guards notices
	notices []machine.Notice
}

func (d *told) read(context.Context) ([]machine.Notice, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notices), nil
}

func (d *told) tell(n machine.Notice) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notices = append(d.notices, n)
}

func TestNextReturnsEachNoticeOnceInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &told{}
		w := notice.New(d.read, slog.New(slog.DiscardHandler), time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		short, stop := context.WithTimeout(ctx, time.Minute)
		if n, found := w.Next(short, 0); found {
			t.Errorf("got %+v, want that none came", n)
		}
		stop()
		start := time.Now()
		all := []machine.Notice{
			{Kind: machine.Rebalance, At: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Reason: "spot rebalance recommendation"},
			{Kind: machine.Interruption, At: time.Date(2030, 1, 2, 3, 9, 5, 0, time.UTC), Reason: "spot interruption: terminate"},
		}
		d.tell(all[0])
		first, _ := w.Next(ctx, 0)
		if took := time.Since(start); took > notice.Every {
			t.Errorf("got it after %s, want at the next look", took)
		}
		d.tell(all[1])
		second, _ := w.Next(ctx, first.N)
		for i, want := range all {
			got := []machine.Notice{first, second}[i]
			want.N = got.N
			if d := cmp.Diff(got, want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		}
		if again, _ := w.Next(ctx, 0); again != first {
			t.Errorf("got %+v, want the same notice again", again)
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
