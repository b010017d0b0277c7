package elastic_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/master/elastic"
)

// BenchmarkDecide decides over a thousand machines, half of them idle, with up to ten thousand waiting
// tasks.
func BenchmarkDecide(b *testing.B) {
	for _, waiting := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprintf("1000 machines, %d gangs", waiting), func(b *testing.B) {
			s := at(elastic.Limits{Max: 2000, MaxIdle: 20 * time.Minute, MaxStarting: 20 * time.Minute})
			for i := range 1000 {
				id := cloud.InstanceID(fmt.Sprintf("i-%04d", i))
				s.f.Launches[string(id)] = &elastic.Launch{Token: string(id), Offer: offer("a"), Count: 1, At: s.now}
				s.f.Granted(string(id), []cloud.Instance{{ID: id, State: cloud.InstanceRunning}}, s.now)
				s.agents = append(s.agents, elastic.Agent{ID: id, Slots: 8, Free: i % 2 * 8, Aux: 100, Busy: i%2 == 0})
			}
			for i := range waiting {
				s.gangs = append(s.gangs, elastic.Gang{ID: fmt.Sprint(i), Slots: []int{1, 2, 4, 8, 16}[i%5], JobRoom: -1})
			}
			b.ReportAllocs()
			for b.Loop() {
				s.f.Observe(s.agents, s.gangs, s.now)
				elastic.Decide(s.f, s.now)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}
