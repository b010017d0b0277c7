package agentrm

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// crowd connects n agents concurrently.
func (c *cluster) crowd(n, slots int) []*peer {
	peers := make([]*peer, n)
	var wg sync.WaitGroup
	gate := make(chan struct{}, 64)
	for i := range n {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			peers[i], _ = c.join(fmt.Sprintf("agent-%04d", i), slots)
		})
	}
	wg.Wait()
	return peers
}

// BenchmarkAgents checks that a thousand connected agents take less than 300 MB and all reconnect within
// 15 s of a restart. The memory includes both ends of the links.
func BenchmarkAgents(b *testing.B) {
	for b.Loop() {
		before := heap()
		c := newCluster(b)
		began := time.Now()
		peers := c.crowd(1000, 8)
		b.ReportMetric(time.Since(began).Seconds(), "s/join")
		b.ReportMetric(float64(heap()-before)/(1<<20), "MB/1000agents")
		for _, p := range peers {
			p.hangUp()
		}
		c.restart()
		began = time.Now()
		c.crowd(1000, 8)
		b.ReportMetric(time.Since(began).Seconds(), "s/rejoin")
		c.stop()
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse) //nolint:gosec // far below the limit of int64
}

// BenchmarkTasks measures the throughput of tasks whose programs take no time.
func BenchmarkTasks(b *testing.B) {
	c := newCluster(b)
	var wg sync.WaitGroup
	peers := c.crowd(8, 16)
	for _, p := range peers {
		wg.Go(p.obey)
	}
	// The number of waiting tasks is bounded by the number of slots, so that the queue stays short for
	// any duration of the benchmark.
	window := make(chan struct{}, 256)
	c.mu.Lock()
	c.fail = func(event string) error {
		if strings.Contains(event, " ended") {
			<-window
		}
		return nil
	}
	c.mu.Unlock()
	n, began := 0, time.Now()
	for b.Loop() {
		n++
		window <- struct{}{}
		c.submit(fmt.Sprint("t", n), 1)
	}
	for range cap(window) { // full again only when all have ended
		window <- struct{}{}
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "tasks/s")
	for _, p := range peers {
		p.hangUp()
	}
	wg.Wait()
}

// BenchmarkStart measures the time from submission to the start at the agent.
func BenchmarkStart(b *testing.B) {
	c := newCluster(b)
	p, _ := c.join("a", 1)
	for n := 0; b.Loop(); n++ {
		c.submit(fmt.Sprint("t", n), 1)
		s := p.started()
		b.StopTimer()
		p.reports(s, terminated, 0)
		c.until("it has ended", func() bool { _, known := c.Allocation(rm.AllocationID(s.GetAllocationId())); return !known })
		b.StartTimer()
	}
}

// obey runs every requested container in no time, until the link is closed.
func (p *peer) obey() {
	for {
		m, err := p.read(p.t.Context())
		if err != nil {
			return
		}
		s := m.GetStart()
		if s == nil {
			continue
		}
		p.received(s)
		p.change(s, running)
		p.say(&agentv1.AgentMessage{Body: &agentv1.AgentMessage_Logs{Logs: &agentv1.Logs{
			ContainerId: s.GetContainerId(), Lines: []*agentv1.Line{{Text: []byte("hello")}},
		}}})
		p.change(s, terminated, 0)
	}
}
