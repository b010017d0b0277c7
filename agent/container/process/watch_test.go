package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

func TestWhoFollowsHearsOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	var w watcher
	one, other := t.TempDir(), t.TempDir()
	first, stopFirst := w.follow(one)
	second, stopSecond := w.follow(one)
	elsewhere, stopElsewhere := w.follow(other)
	if first == nil || second == nil || elsewhere == nil {
		t.Skip("the kernel gives this user no more queues of inotify")
	}
	write := func(dir string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "stdout"), []byte("line\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	await := func(c <-chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was heard for 30 s")
		}
	}
	write(one)
	await(first)
	await(second)
	stopFirst()
	stopFirst() // which changes nothing
	write(other)
	await(elsewhere)
	stopSecond()
	write(other)
	await(elsewhere)
	stopElsewhere()
	if w.queue != nil || len(w.followers) != 0 {
		t.Errorf("got queue %v and followers %v, want neither without followers", w.queue, w.followers)
	}
	again, stop := w.follow(one)
	write(one)
	await(again)
	stop()
}

// A directory that is gone before its follower stops is no trouble.
func TestADirectoryMayGoWhileItIsFollowed(t *testing.T) {
	t.Parallel()
	var w watcher
	dir := filepath.Join(t.TempDir(), "container")
	if c, stop := w.follow(dir); c != nil {
		stop()
		t.Error("a directory that does not exist is followed")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, stop := w.follow(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	stop()
	if w.queue != nil {
		t.Error("the queue is still there")
	}
}

// BenchmarkFollow is the promise of 5 ms, at the median, from a line that is printed until
// its follower has it. Each task prints the time as 20 lines, 50 ms apart.
func BenchmarkFollow(b *testing.B) {
	r, err := New(Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var late []time.Duration
	for i := 0; b.Loop(); i++ {
		id := strconv.Itoa(i)
		if err := r.Start(b.Context(), script(id, "for i in $(seq 20); do date +%s%N; sleep 0.05; done")); err != nil {
			b.Fatal(err)
		}
		err := r.Logs(b.Context(), id, container.Position{}, func(lines []container.Line) error {
			for _, l := range lines {
				printed, err := strconv.ParseInt(string(l.Text), 10, 64)
				if err != nil {
					return err
				}
				late = append(late, time.Since(time.Unix(0, printed)))
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms/p50")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms/p99")
}
