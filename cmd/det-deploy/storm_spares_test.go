package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/container/process"
	"github.com/det-deploy/det-deploy/test/clustertest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// TestCrashWithDirectoriesUsedAgain is the storm of TestCrash over tasks that are not
// isolated, which get the directories of those before them.
func TestCrashWithDirectoriesUsedAgain(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	if process.MemoryDir() == "" {
		t.Skip("this user has no directory in memory, and its tasks leave nothing to others")
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

// spareDirs are the directories on disk that tasks led to, with the task that was seen first,
// and those that another led to later.
type spareDirs struct {
	mu    sync.Mutex
	first map[string]string
	used  map[string]bool
}

func (s *spareDirs) look(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first, s.used = map[string]string{}, map[string]bool{}
	}
	links, _ := filepath.Glob(filepath.Join(cluster, "agent-a", "processes", "*", "files")) // the pattern is good
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil {
			continue // it has gone
		}
		if task := filepath.Dir(link); s.first[at] == "" {
			s.first[at] = task
		} else if s.first[at] != task {
			s.used[at] = true
		}
	}
}

func (s *spareDirs) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.used)
}
