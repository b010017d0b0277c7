package process

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// BenchmarkFollow measures the latency from printing a line to its arrival at a follower; the
// promise is 100 ms for 99 of 100 lines. Each task prints the time in 20 lines, 50 ms apart.
func BenchmarkFollow(b *testing.B) {
	r, err := New(b.Context(), Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var late []time.Duration
	for i := 0; b.Loop(); i++ {
		id := strconv.Itoa(i)
		if err := r.Start(b.Context(), script(id, "for i in $(seq 20); do date +%s%N; sleep 0.05; done")); err != nil {
			b.Fatal(err)
		}
		err := r.Logs(b.Context(), id, container.Position{}, func(lines []container.Line) error {
			for _, l := range lines {
				printed, err := strconv.ParseInt(string(l.Text), 10, 64)
				if err != nil {
					return err
				}
				late = append(late, time.Since(time.Unix(0, printed)))
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms/p50")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms/p99")
}
