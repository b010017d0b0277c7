// Package watch tells who follows the output of containers that something was written.
package watch

import (
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Watcher tells who follows a container that something was written to its files. All
// share one queue of the kernel's, of which a user has few; it is there as long as
// there are followers. The zero Watcher is ready.
type Watcher struct {
	mu sync.Mutex
	// queue is nil without followers.
	queue *fsnotify.Watcher
	// followers are by file.
	followers map[string][]chan struct{}
}

// Follow returns a channel that gets a value after something was written to one of the
// files, until stop is called. It is nil where the kernel gives no queue or no place in it.
func (w *Watcher) Follow(files ...string) (written <-chan struct{}, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil && w.open() != nil {
		return nil, func() {}
	}
	c := make(chan struct{}, 1)
	for i, f := range files {
		w.followers[f] = append(w.followers[f], c)
		if w.queue.Add(f) != nil {
			w.drop(files[:i+1], c)
			return nil, func() {}
		}
	}
	return c, sync.OnceFunc(func() { w.leave(files, c) })
}

func (w *Watcher) open() error {
	queue, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	w.queue, w.followers = queue, make(map[string][]chan struct{})
	go w.pass(queue)
	return nil
}

func (w *Watcher) leave(files []string, c chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(files, c)
}

// drop forgets a follower, and the queue after the last.
func (w *Watcher) drop(files []string, c chan struct{}) {
	for _, f := range files {
		rest := w.followers[f][:0]
		for _, other := range w.followers[f] {
			if other != c {
				rest = append(rest, other)
			}
		}
		if w.followers[f] = rest; len(rest) > 0 {
			continue
		}
		delete(w.followers, f)
		_ = w.queue.Remove(f) // it is gone with the file
	}
	if len(w.followers) == 0 {
		_ = w.queue.Close()
		w.queue = nil
	}
}

// pass hands on what the queue reports until it is closed. An error is that of a queue
// that was full: something was written, and it is not known where.
func (w *Watcher) pass(queue *fsnotify.Watcher) {
	for {
		select {
		case e, open := <-queue.Events:
			if !open {
				return
			}
			w.wake(e.Name)
		case _, open := <-queue.Errors:
			if !open {
				return
			}
			w.wakeAll()
		}
	}
}

func (w *Watcher) wake(file string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.followers[file] {
		signal(c)
	}
}

func (w *Watcher) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.followers {
		for _, c := range all {
			signal(c)
		}
	}
}

// signal leaves a value for a follower that has none yet.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
