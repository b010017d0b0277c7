package tasks

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/master"
	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// BenchmarkArray runs arrays of short tasks on 100 agents of 8 slots, from the single submission
// until the last task has ended. It fails if a task of a large array costs more than 1.5 times as
// much as one of a small array. The agents are part of this process and take processor time from
// the master.
func BenchmarkArray(b *testing.B) {
	p := openPool(b, 100)
	costs := map[int]time.Duration{}
	for _, size := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("%d_tasks", size), func(b *testing.B) {
			before, fleet := p.Processor(), measure.Processor()
			for range b.N {
				if err := p.runArray(b.Context(), size); err != nil {
					b.Fatal(err)
				}
			}
			n := b.N * size
			costs[size] = (p.Processor() - before) / time.Duration(n)
			b.ReportMetric(costs[size].Seconds()*1000, "ms-of-the-master/task")
			b.ReportMetric((measure.Processor()-fleet).Seconds()*1000/float64(n), "ms-of-the-fleet/task")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "tasks/s")
		})
	}
	if small, large := costs[1000], costs[10_000]; small > 0 && large > small*3/2+noise {
		b.Errorf("a task costs the master %v in an array of 1,000 and %v in one of 10,000", small, large)
	}
}

func (p *pool) runArray(ctx context.Context, size int) error {
	before := p.fleet.count.Load()
	body := map[string]any{
		"config": map[string]any{"entrypoint": []string{"true"}, "resources": map[string]any{"slots": 1}},
		"array":  map[string]any{"size": size},
	}
	if err := p.Ask(ctx, http.MethodPost, "commands", body, nil); err != nil {
		return err
	}
	for began := time.Now(); p.fleet.count.Load() < before+int64(size); master.Pause(ctx, time.Millisecond) {
		if time.Since(began) > 5*time.Minute {
			return fmt.Errorf("%d of %d tasks have not ended after 5 minutes", before+int64(size)-p.fleet.count.Load(), size)
		}
	}
	return ctx.Err()
}
