package launcher

import (
	"sync"
	"time"
)

// inbox is what others tell a launcher. It has a lock of its own, so that the scheduler,
// which holds the one of all agents, never waits for the launcher.
type inbox struct {
	mu   sync.Mutex // guards what follows
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

// takeView returns the newest view, nil before the first, and since when tasks wait in it.
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

// completeAt is until when more tasks of the same submission may come; zero if none wait.
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
