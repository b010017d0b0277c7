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
	one, beside, other := newFile(t), newFile(t), newFile(t)
	first, stopFirst := w.Follow(beside, one)
	second, stopSecond := w.Follow(one)
	elsewhere, stopElsewhere := w.Follow(other)
	if first == nil || second == nil || elsewhere == nil {
		t.Skip("the kernel gives this user no more queues of inotify")
	}
	write := func(file string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("line\n"), 0o600); err != nil {
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
	write(beside)
	await(first)
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

func newFile(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "stdout")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A file that is gone before its follower stops is no trouble.
func TestAFileMayGoWhileItIsFollowed(t *testing.T) {
	t.Parallel()
	var w Watcher
	file := newFile(t)
	if c, stop := w.Follow(file, file+"-not-there"); c != nil || w.queue != nil {
		stop()
		t.Error("a file that does not exist is followed")
	}
	_, stop := w.Follow(file)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	stop()
	if w.queue != nil {
		t.Error("the queue is still there")
	}
}
