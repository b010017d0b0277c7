// Package workqueue does work in order within a lane, and side by side across lanes, by a
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

// Workers bounds how much waits for the store at a time. The store commits what waits together
// in one go, so that waiting in company costs less than waiting alone: of tasks that start and end
// together as many are one commit as it takes. A worker is there while there is work.
const Workers = 512

// Work is one thing to do. It returns how long to wait before it is tried
// again, 0 when it is done.
type Work func(ctx context.Context) (again time.Duration)

// Queue holds the work of all lanes. Work that is tried again holds up its own lane, and
// no worker.
type Queue struct {
	// mu guards what follows.
	mu sync.Mutex
	// waiting holds the work of every lane that has any, the one in hand first.
	waiting map[string][]Work
	// ready lists the lanes of which nothing is in hand.
	ready []string
	// working counts the workers.
	working int
	// begin starts a worker; it is nil while work is only kept.
	begin func()
}

// New returns a queue without work.
func New() *Queue { return &Queue{waiting: make(map[string][]Work)} }

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

// markReady has a lane served, by one more worker where there may be one. The caller holds mu.
func (q *Queue) markReady(lane string) {
	q.ready = append(q.ready, lane)
	q.addWorker()
}

func (q *Queue) addWorker() {
	if q.begin != nil && q.working < Workers {
		q.working++
		q.begin()
	}
}

// Run does what was added and is, until ctx ends. It returns when nothing is in hand any more.
func (q *Queue) Run(ctx context.Context) {
	var workers sync.WaitGroup
	q.mu.Lock()
	q.begin = func() { workers.Go(func() { q.serveLanes(ctx) }) }
	for range q.ready {
		q.addWorker()
	}
	q.mu.Unlock()
	<-ctx.Done()
	q.mu.Lock()
	q.begin = nil
	q.mu.Unlock()
	workers.Wait()
}

// serveLanes is one worker. It ends when no lane is ready, or with ctx.
func (q *Queue) serveLanes(ctx context.Context) {
	for {
		lane, w := q.takeReady(ctx)
		if w == nil {
			return
		}
		if again := w(ctx); again > 0 {
			time.AfterFunc(again, func() { q.retry(lane) })
			continue
		}
		q.finish(lane)
	}
}

// takeReady answers nil to a worker that is to end.
func (q *Queue) takeReady(ctx context.Context) (string, Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.ready) == 0 || ctx.Err() != nil {
		q.working--
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

// finish is called by a worker, which then takes the next lane: none more is needed for this one.
func (q *Queue) finish(lane string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[lane] = q.waiting[lane][1:]; len(q.waiting[lane]) > 0 {
		q.ready = append(q.ready, lane)
		return
	}
	delete(q.waiting, lane)
}
