package process

import (
	"os"
	"strconv"
	"strings"
	"testing"
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
