package task_test

import (
	"sync/atomic"
	"testing"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
)

// BenchmarkLaunch measures acknowledged, durable submissions by many concurrent clients.
func BenchmarkLaunch(b *testing.B) {
	m := newMaster(b)
	req := command(b, `{"entrypoint":["true"]}`)
	b.SetParallelism(32)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := m.tasks.Launch(b.Context(), ann(), req, nil); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "launches/s")
}

// BenchmarkLife measures complete commands, including every report of an agent.
func BenchmarkLife(b *testing.B) {
	m := newMaster(b)
	req := command(b, `{"entrypoint":["true"]}`)
	var done atomic.Int64
	b.SetParallelism(64)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			r, err := m.tasks.Launch(b.Context(), ann(), req, nil)
			if err != nil {
				b.Error(err)
				return
			}
			a := first(r.GetCommand().GetId())
			m.must(
				func() error { _, err := m.tasks.Assigned(b.Context(), assignment(a, 1)); return err },
			)
			for _, s := range []apiv1.Container_State{pulling, apiv1.Container_STATE_STARTING, running, terminated} {
				m.changed(a, 0, s, exit(0))
			}
			m.must(func() error {
				return m.tasks.Ended(b.Context(), a, rm.End{Cause: rm.CauseExited, At: time.Now()})
			})
			done.Add(1)
		}
	})
	b.ReportMetric(float64(done.Load())/b.Elapsed().Seconds(), "tasks/s")
	n, c := float64(done.Load()), m.store.Counts()
	b.ReportMetric(float64(c.Writes)/n, "writes/task")
	b.ReportMetric(float64(c.Statements)/n, "statements/task")
	b.ReportMetric(float64(c.Commits)/n, "commits/task")
}

// BenchmarkListedCommands measures a list of 500 commands, each with the line of its configuration.
func BenchmarkListedCommands(b *testing.B) {
	m := newMaster(b)
	req := command(b, `{"entrypoint":["python3","train.py","--epochs","10"],"environment":{"environment_variables":["A=1","B=2"]},"resources":{"slots":0}}`)
	for range 500 {
		if _, err := m.tasks.Launch(b.Context(), ann(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		list, err := m.tasks.Commands(b.Context(), task.CommandQuery{Cut: func(total int) (int, int) { return 0, total }})
		if err != nil || len(list) != 500 || list[0].GetCommandLine() != "python3 train.py --epochs 10" {
			b.Fatalf("got %d commands, %v", len(list), err)
		}
	}
}
