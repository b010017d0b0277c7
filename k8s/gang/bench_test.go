package gang

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// BenchmarkDecide checks that a decision on 5,000 gangs and 1,000 nodes with 8 GPUs takes less than
// 100 ms, because each change triggers one.
func BenchmarkDecide(b *testing.B) {
	pods := []*Pod{pod(b, gpuSpec(1)), pod(b, gpuSpec(4)), pod(b, gpuSpec(8)), pod(b, gpuSpec(8, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"half": "1"}
	}))}
	for _, row := range []struct {
		name       string
		used       int64
		running    int
		preemption bool
		// hidden is the usage of other pods per node, which only the scheduler sees.
		hidden int64
	}{
		{"an empty cluster", 0, 0, false, 0},
		{"a full cluster", 8, 1000, false, 0},
		{"a full cluster with preemption", 8, 1000, true, 0},
		{"a cluster with odd GPUs left", 5, 0, false, 0},
		{"a cluster that others fill", 0, 0, true, 8},
	} {
		b.Run(row.name, func(b *testing.B) {
			c := Cluster{Options: DefaultOptions()}
			c.Options.Preemption = row.preemption
			for i := range 1000 {
				n := gpus(NodeID(fmt.Sprintf("node-%d", i)), 8, row.used)
				n.Labels["half"] = fmt.Sprint(i % 2)
				c.Nodes = append(c.Nodes, n)
				if row.hidden > 0 {
					c.Options.OthersKnown = false
					c.Lessons = append(c.Lessons, Lesson{
						Node: n.ID, Resource: "nvidia.com/gpu", Most: 9 - row.hidden, At: epoch(), Until: epoch().Add(time.Minute), Times: 1,
					})
				}
			}
			for i := range 5000 {
				g := Gang{
					ID: ID(fmt.Sprintf("g%d", i)), Job: JobID(fmt.Sprintf("g%d", i)), Pods: 1 + i%7%4*2, Pod: pods[i%len(pods)],
					Priority: 1 + i%90, Submitted: epoch().Add(time.Duration(i)), State: Queued, Preemptible: i%3 == 0,
				}
				if i < row.running {
					g.State, g.Pods, g.Pod, g.Preemptible = Running, 1, pods[2], true
					g.Held = []Held{{Node: c.Nodes[i].ID, Pods: 1}}
				}
				c.Gangs = append(c.Gangs, g)
			}
			for b.Loop() {
				Decide(c, epoch())
			}
		})
	}
}
