// Package workqueue does work in order within a lane, and side by side across lanes, on a
// bounded number of workers. Work that fails is tried again before what follows it.
//
// Kubernetes' own queue (client-go's, which k8s/pods uses) keeps keys, and forgets that
// one was added twice: it suits loops that look at what is there now. Here each piece of
// work is one message or one step of an allocation, none may be lost or overtaken, and
// the master of agents must not need client-go.
package workqueue

import (
	"context"
	"sync"
	"time"
)

// Workers bounds how much waits for the store at a time. The store commits
// what waits together in one go, so that waiting in company costs no more than
// waiting alone.
const Workers = 64

// Work is one thing to do. It returns how long to wait before it is tried
// again, 0 when it is done.
type Work func(ctx context.Context) (again time.Duration)

// Queue holds the work of all lanes. Work that is tried again holds up its own lane, and
// no worker.
type Queue struct {
	wake chan struct{}

	// mu guards waiting and ready.
	mu sync.Mutex
	// waiting holds the work of every lane that has any, the one in hand first.
	waiting map[string][]Work
	// ready lists the lanes of which nothing is in hand.
	ready []string
}

// New returns a queue without work.
func New() *Queue {
	return &Queue{wake: make(chan struct{}, Workers), waiting: make(map[string][]Work)}
}

// Add adds work to a lane. It never waits.
func (q *Queue) Add(lane string, w Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	idle := len(q.waiting[lane]) == 0
	q.waiting[lane] = append(q.waiting[lane], w)
	if idle {
		q.markReady(lane)
	}
}

func (q *Queue) markReady(lane string) {
	q.ready = append(q.ready, lane)
	select {
	case q.wake <- struct{}{}:
	default: // as many signals as workers are on their way
	}
}

// Run does what is added until ctx ends. It is one of Workers.
func (q *Queue) Run(ctx context.Context) {
	for ctx.Err() == nil {
		lane, w := q.takeReady()
		if w == nil {
			select {
			case <-q.wake:
			case <-ctx.Done():
			}
			continue
		}
		if again := w(ctx); again > 0 {
			time.AfterFunc(again, func() { q.retry(lane) })
			continue
		}
		q.finish(lane)
	}
}

func (q *Queue) takeReady() (string, Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) == 0 {
		return "", nil
	}
	lane := q.ready[0]
	q.ready = q.ready[1:]
	return lane, q.waiting[lane][0]
}

func (q *Queue) retry(lane string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.markReady(lane)
}

func (q *Queue) finish(lane string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[lane] = q.waiting[lane][1:]; len(q.waiting[lane]) > 0 {
		q.markReady(lane)
		return
	}
	delete(q.waiting, lane)
}
