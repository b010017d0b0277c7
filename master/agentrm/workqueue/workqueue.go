// Package workqueue does work in order within a lane and concurrently across lanes, with a bounded
// number of workers. Failed work is retried before the next work of its lane.
//
// The Kubernetes work queue (client-go's, which k8s/pods uses) holds keys and deduplicates them, which
// suits loops that reconcile the current state. Here each piece of work is one message or one step of an
// allocation, none may be lost or overtaken, and the master of agents must not depend on client-go.
package workqueue

import (
	"context"
	"sync"
	"time"
)

// Workers bounds the number of concurrent writes to the store. The store commits waiting writes
// together, so that many writers wait less in total than the same writes in sequence: tasks that start
// and end together need few commits. Workers run only while there is work.
const Workers = 512

// Work is one piece of work. It returns the time after which it is retried, or 0 when it is done.
type Work func(ctx context.Context) (again time.Duration)

// Queue holds the work of all lanes. Work that is being retried blocks its lane, but no worker.
type Queue struct {
	// mu guards the fields below.
	mu sync.Mutex
	// waiting holds the work of every non-empty lane, including the running one, which is first.
	waiting map[string][]Work
	// ready lists the lanes whose first work is not running.
	ready []string
	// working counts the workers.
	working int
	// begin starts a worker; it is nil before and after Run.
	begin func()
}

// New returns a queue without work.
func New() *Queue { return &Queue{waiting: make(map[string][]Work)} }

// Add adds work to a lane. It does not block.
func (q *Queue) Add(lane string, w Work) {
	q.mu.Lock()
	defer q.mu.Unlock()
	idle := len(q.waiting[lane]) == 0
	q.waiting[lane] = append(q.waiting[lane], w)
	if idle {
		q.markReady(lane)
	}
}

// markReady marks a lane as ready and starts another worker if permitted. The caller holds mu.
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

// Run does the queued and added work until ctx is done. It returns when no work is running any more.
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

// serveLanes runs one worker. It returns when no lane is ready, or when ctx is done.
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

// takeReady returns the first work of a ready lane, or nil if the worker has to end.
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

// finish completes the work of a lane. It is called by a worker, which then takes the next lane, so that
// no further worker is needed.
func (q *Queue) finish(lane string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[lane] = q.waiting[lane][1:]; len(q.waiting[lane]) > 0 {
		q.ready = append(q.ready, lane)
		return
	}
	delete(q.waiting, lane)
}
