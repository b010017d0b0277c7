package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Status writes the components with their resource usage. It returns an error if the cluster is not
// healthy.
func (l *Lab) Status(ctx context.Context, out io.Writer) error {
	s, err := l.load()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "mode %s, since %s, %s\n", s.Mode, s.Started.Format("15:04:05"), s.server())
	total := 0
	for _, name := range l.components() {
		pid := l.pid(name)
		if pid == 0 {
			fmt.Fprintf(out, "  %-24s ENDED (logs/%s.log)\n", name, name)
			continue
		}
		memory := proportional(pid)
		total += memory
		fmt.Fprintf(out, "  %-24s pid %-7d %4d MiB\n", name, pid, memory>>10)
	}
	fmt.Fprintf(out, "  %-24s             %4d MiB (proportional, without pods and shims)\n", "together", total>>10)
	if err := l.healthy(ctx, s); err != nil {
		return fmt.Errorf("the cluster is not healthy: %w", err)
	}
	return l.count(ctx, out)
}

func (l *Lab) count(ctx context.Context, out io.Writer) error {
	c, err := l.client()
	if err != nil {
		return err
	}
	nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	pods, err := c.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	phases := make(map[corev1.PodPhase]int)
	for _, p := range pods.Items {
		phases[p.Status.Phase]++
	}
	fmt.Fprintf(out, "healthy; %d nodes; pods %v\n", len(nodes.Items), phases)
	return nil
}

// proportional returns the private memory of a process and its share of shared memory, in KiB: all
// components map the pages of one file.
func proportional(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var n int
		if _, err := fmt.Sscanf(line, "Pss: %d kB", &n); err == nil {
			return n
		}
	}
	return 0
}
