package lab

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// wait describes a condition to wait for.
type wait struct {
	what  string
	limit time.Duration
	// needs are the components without which it can never be met.
	needs []string
}

// await calls ask every 100 ms until it returns nil. It returns an error after the limit, or early,
// with the end of the log, when a needed component has exited.
func (l *Lab) await(ctx context.Context, w wait, ask func() error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(w.limit)
	for {
		err := ask()
		if err == nil {
			return nil
		}
		for _, name := range w.needs {
			if l.pid(name) == 0 {
				return fmt.Errorf("%s has ended; the end of its log:\n%s", name, tail(l.path("logs", name+".log"), 15))
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("wait %s for %s: %w", w.limit, w.what, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func tail(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (l *Lab) client() (*kubernetes.Clientset, error) {
	c, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, err
	}
	c.QPS, c.Burst = 200, 400
	return kubernetes.NewForConfig(c)
}

// answers returns an error unless the API server is ready.
func (l *Lab) answers(ctx context.Context) error {
	c, err := l.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	return c.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// healthy returns an error for the first part of the cluster that is not ready.
func (l *Lab) healthy(ctx context.Context, s state) error {
	for _, name := range l.components() {
		if l.pid(name) == 0 {
			return fmt.Errorf("%s does not run", name)
		}
	}
	if err := l.answers(ctx); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	c, err := l.client()
	if err != nil {
		return err
	}
	// No pod can be created without it.
	if _, err := c.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	want, ready := s.FakeNodes, 0
	if s.real() {
		want++
	}
	for _, n := range nodes.Items {
		if usable(n, s.GPUs) {
			ready++
		}
	}
	if ready < want {
		return fmt.Errorf("%d of %d nodes are ready", ready, want)
	}
	return nil
}

// usable reports whether a node accepts pods; the real one must have its GPUs.
func usable(n corev1.Node, gpus int) bool {
	ready := slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
	fresh := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
	have := n.Status.Allocatable[gpuResource]
	return ready && !fresh && (n.Name != NodeName || have.Value() == int64(gpus))
}
