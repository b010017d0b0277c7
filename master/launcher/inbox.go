package launcher

import (
	"sync"
	"time"
)

// inbox collects the messages to a launcher. It has its own lock, so that the scheduler, which holds the
// lock of all agents, never waits for the launcher.
type inbox struct {
	mu   sync.Mutex // guards the fields below
	view *view
	// since is when tasks were first seen waiting in a view that was not taken.
	since   time.Time
	waiting bool // tasks wait in the view
	posts   []func(now time.Time)
}

func (in *inbox) putView(v *view, now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.view, in.waiting = v, len(v.decision.Waiting) > 0
	if in.waiting && in.since.IsZero() {
		in.since = now
	}
}

// takeView returns the newest view, or nil before the first one, and since when tasks wait in it.
func (in *inbox) takeView() (v *view, since time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	since, in.since = in.since, time.Time{}
	return in.view, since
}

func (in *inbox) putPost(do func(now time.Time)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.posts = append(in.posts, do)
}

func (in *inbox) takePosts() []func(now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	posts := in.posts
	in.posts = nil
	return posts
}

// completeAt returns the time until which more tasks of the same submission may come; zero if none wait.
func (in *inbox) completeAt(batch time.Duration) time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.since.IsZero() {
		return time.Time{}
	}
	return in.since.Add(batch)
}

func (in *inbox) tasksWait() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.waiting
}
