package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWhoFollowsHearsOfWhatIsWritten(t *testing.T) {
	t.Parallel()
	var w Watcher
	one, other := t.TempDir(), t.TempDir()
	first, stopFirst := w.Follow(one)
	second, stopSecond := w.Follow(one)
	elsewhere, stopElsewhere := w.Follow(other)
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
	again, stop := w.Follow(one)
	write(one)
	await(again)
	stop()
}

// A directory that is gone before its follower stops is no trouble.
func TestADirectoryMayGoWhileItIsFollowed(t *testing.T) {
	t.Parallel()
	var w Watcher
	dir := filepath.Join(t.TempDir(), "container")
	if c, stop := w.Follow(dir); c != nil {
		stop()
		t.Error("a directory that does not exist is followed")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, stop := w.Follow(dir)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	stop()
	if w.queue != nil {
		t.Error("the queue is still there")
	}
}
