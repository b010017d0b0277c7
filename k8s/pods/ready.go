package pods

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/k8s/pods/logs"
)

const (
	// apiTimeout is the timeout of the request that Ready sends to the API server.
	apiTimeout = 1500 * time.Millisecond
	// apiSilence is how long the API server may be unavailable: it is upgraded and restarted while
	// tasks keep running.
	apiSilence = 30 * time.Second
)

// Ready returns nil if all watches are synced, the API server has answered recently, and a pass
// over the queues was completed after the call.
func (r *RM) Ready(ctx context.Context) error {
	r.state.mu.Lock()
	seen, unknown := r.state.watch != nil, r.state.unknown
	r.state.mu.Unlock()
	if !seen {
		return fmt.Errorf("what runs in Kubernetes is not known yet: %s", orNothingYet(unknown))
	}
	if err := r.api.checkAPI(ctx, time.Now()); err != nil {
		return err
	}
	return r.state.passes.Wait(ctx)
}

func orNothingYet(why string) string {
	if why == "" {
		return "the watches have not begun"
	}
	return why
}

// noPod selects a name that no pod of tasks has. From its cache, the API server returns all pods
// that match a selector, regardless of the limit.
const noPod = "metadata.name=det-deploy-ready"

// apiHealth records when the API server last answered Ready.
type apiHealth struct {
	client    kubernetes.Interface
	namespace string
	// answered is in nanoseconds since 1970.
	answered atomic.Int64
}

// checkAPI lists pods with a filter that matches none, from the API server's cache. Ready calls it
// one at a time.
func (h *apiHealth) checkAPI(ctx context.Context, now time.Time) error {
	asked, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	_, err := h.client.CoreV1().Pods(h.namespace).List(asked, metav1.ListOptions{FieldSelector: noPod, ResourceVersion: "0"})
	if err == nil {
		h.answered.Store(now.UnixNano())
		return nil
	}
	since := now.Sub(time.Unix(0, h.answered.Load()))
	if h.answered.Load() != 0 && since < apiSilence {
		return nil
	}
	return errors.Join(fmt.Errorf("the API server has not answered for %s", apiSilence), err)
}

// metrics are the metrics of the resource manager.
type metrics struct {
	logs         *logs.Metrics
	undone       prometheus.Counter
	decide, gang prometheus.Histogram
}

func newMetrics() *metrics {
	return &metrics{
		logs: logs.NewMetrics(),
		undone: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "det_deploy_pod_gangs_undone_total", Help: "Jobs that were deleted because not all of their pods could be made or placed in time.",
		}),
		decide: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "det_deploy_pod_decide_seconds", Help: "How long one pass over the queues takes.",
			Buckets: []float64{.0001, .001, .005, .01, .025, .05, .1, .25, .5, 1},
		}),
		gang: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "det_deploy_pod_gang_seconds", Help: "From the decision to run an allocation until nodes have taken all of its pods.",
			Buckets: []float64{.1, .25, .5, 1, 2, 5, 10, 30, 60},
		}),
	}
}

func (m *metrics) allCollectors() []prometheus.Collector {
	return append(m.logs.Collectors(), m.undone, m.decide, m.gang)
}

// collectors combines several collectors.
type collectors []prometheus.Collector

// Describe implements prometheus.Collector.
func (c collectors) Describe(ch chan<- *prometheus.Desc) {
	for _, one := range c {
		one.Describe(ch)
	}
}

// Collect implements prometheus.Collector.
func (c collectors) Collect(ch chan<- prometheus.Metric) {
	for _, one := range c {
		one.Collect(ch)
	}
}

// Metrics returns the collector of the resource manager's metrics.
func (r *RM) Metrics() prometheus.Collector { return collectors(r.state.metrics.allCollectors()) }
