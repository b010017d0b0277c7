package agentrm

import (
	"context"
	"sync"
	"time"
)

// laneWorkers bounds how much waits for the store at a time. The store commits
// what waits together in one go, so that waiting in company costs no more than
// waiting alone.
const laneWorkers = 64

// work is one thing to do. It returns how long to wait before it is tried
// again, 0 when it is done.
type work func(ctx context.Context) (again time.Duration)

// lanes do work in the order of posting within a lane, and side by side across
// lanes. Work that is tried again holds up its own lane, and no worker.
type lanes struct {
	wake chan struct{}

	// mu guards waiting and ready.
	mu sync.Mutex
	// waiting holds the work of every lane that has any, the one in hand first.
	waiting map[string][]work
	// ready lists the lanes of which nothing is in hand.
	ready []string
}

func newLanes() *lanes {
	return &lanes{wake: make(chan struct{}, laneWorkers), waiting: make(map[string][]work)}
}

// post adds work to a lane. It never waits.
func (l *lanes) post(lane string, w work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	idle := len(l.waiting[lane]) == 0
	l.waiting[lane] = append(l.waiting[lane], w)
	if idle {
		l.offer(lane)
	}
}

func (l *lanes) offer(lane string) {
	l.ready = append(l.ready, lane)
	select {
	case l.wake <- struct{}{}:
	default: // as many signals as workers are on their way
	}
}

// work does what is posted until ctx ends.
func (l *lanes) work(ctx context.Context) {
	for ctx.Err() == nil {
		lane, w := l.take()
		if w == nil {
			select {
			case <-l.wake:
			case <-ctx.Done():
			}
			continue
		}
		if again := w(ctx); again > 0 {
			time.AfterFunc(again, func() { l.retry(lane) })
			continue
		}
		l.finish(lane)
	}
}

func (l *lanes) take() (string, work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ready) == 0 {
		return "", nil
	}
	lane := l.ready[0]
	l.ready = l.ready[1:]
	return lane, l.waiting[lane][0]
}

func (l *lanes) retry(lane string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.offer(lane)
}

func (l *lanes) finish(lane string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[lane] = l.waiting[lane][1:]; len(l.waiting[lane]) > 0 {
		l.offer(lane)
		return
	}
	delete(l.waiting, lane)
}
