package process

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheWatchAloneMayBeLate(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may set it for another thread")
	}
	slackOf := func(thread string) string {
		text, err := os.ReadFile("/proc/" + thread + "/timerslack_ns")
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	before := slackOf(strconv.Itoa(os.Getpid()))
	if err := SlowWatch(); err != nil {
		t.Fatal(err)
	}
	tasks, err := os.Open("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tasks.Close() }()
	threads, err := tasks.Readdirnames(-1)
	if err != nil {
		t.Fatal(err)
	}
	if watch := threads[1]; runsGoroutines(t, watch) {
		t.Errorf("thread %s runs goroutines, want the watch, which runs none", watch)
	}
	for i, thread := range threads {
		want := before
		if i == 1 {
			want = strconv.Itoa(watchSlack)
		}
		if got := slackOf(thread); got != want {
			t.Errorf("thread %d: got %s, want %s", i, got, want)
		}
	}
}

// runsGoroutines says whether a thread of this process runs one of as many goroutines as it takes to
// occupy all threads that there are.
func runsGoroutines(t *testing.T, thread string) bool {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	var found bool
	var mu sync.Mutex
	var started, ended sync.WaitGroup
	for range len(tasks) + 1 {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			mu.Lock()
			found = found || strconv.Itoa(unix.Gettid()) == thread
			mu.Unlock()
			started.Done()
			started.Wait() // all at once: none gives its thread to another
		})
	}
	ended.Wait()
	return found
}
