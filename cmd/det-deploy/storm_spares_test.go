package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/test/clustertest"
)

// TestCrashWithDirectoriesUsedAgain is the storm of TestCrash over tasks that are not
// isolated, which get the directories of those before them.
func TestCrashWithDirectoriesUsedAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes half a minute; run without -short")
	}
	if os.Geteuid() != 0 {
		t.Skip("only the tasks of root leave their directories to others")
	}
	var seen spareDirs
	storm{
		cluster: clusterConfig{Agent: plainAgent + "task_users: \"\"\n"},
		tasks:   5 * stormTasks(),
		// An agent that lives shorter has no directories to use again.
		pace: 1200 * time.Millisecond,
		fault: func(c *cluster, stop <-chan struct{}, _ *rand.Rand) {
			for clustertest.Pause(stop, 5*time.Millisecond) {
				seen.look(c.Dir)
			}
		},
		after: func(c *cluster, api *rawAPI) {
			t.Logf("%d directories were used again in the storm", seen.count())
			// On a busy machine each agent may have been killed too soon.
			stop := make(chan struct{})
			var looks sync.WaitGroup
			looks.Go(func() {
				for clustertest.Pause(stop, 5*time.Millisecond) {
					seen.look(c.Dir)
				}
			})
			for i := 1000; seen.count() == 0 && i < 1200; i += 20 {
				var ids []string
				for n := range 20 {
					ids = append(ids, api.launch(i+n))
				}
				if err := waitAll(api, ids); err != nil {
					t.Fatal(err)
				}
				for n, id := range ids {
					checkTask(t, api, i+n, id)
				}
			}
			close(stop)
			looks.Wait()
			if seen.count() == 0 {
				t.Error("no directory was used again")
			}
		},
	}.run(t)
}

// spareDirs are the directories that waited for another task, and whether one got them.
type spareDirs struct {
	mu          sync.Mutex
	spare, used map[born]bool
}

// born is what a directory keeps under all its names: its number, and when it was made, in
// nanoseconds, since its number may become another's.
type born struct {
	inode uint64
	at    int64
}

func (s *spareDirs) look(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range []string{"processes-spare", "processes"} {
		found, _ := filepath.Glob(filepath.Join(cluster, "agent-a", name, "*")) // the pattern is good
		for _, f := range found {
			var st unix.Statx_t
			if unix.Statx(unix.AT_FDCWD, f, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_BTIME, &st) != nil {
				continue // it has moved
			}
			b := born{st.Ino, st.Btime.Sec*1e9 + int64(st.Btime.Nsec)}
			if s.spare == nil {
				s.spare, s.used = map[born]bool{}, map[born]bool{}
			}
			if name == "processes-spare" {
				s.spare[b] = true
			} else if s.spare[b] {
				s.used[b] = true
			}
		}
	}
}

func (s *spareDirs) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.used)
}
