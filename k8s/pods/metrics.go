package pods

import "github.com/prometheus/client_golang/prometheus"

// meters count what the resource manager does.
type meters struct {
	streams      prometheus.Gauge
	lines, gaps  prometheus.Counter
	undone       prometheus.Counter
	decide, gang prometheus.Histogram
}

func newMeters() *meters {
	return &meters{
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "det_deploy_pod_log_streams", Help: "Logs of pods that are being followed.",
		}),
		lines: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "det_deploy_pod_log_lines_total", Help: "Lines of pods that were stored.",
		}),
		gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "det_deploy_pod_log_gaps_total", Help: "Places in logs of pods where lines may be missing; each is said in the task's log.",
		}),
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

func (m *meters) all() []prometheus.Collector {
	return []prometheus.Collector{m.streams, m.lines, m.gaps, m.undone, m.decide, m.gang}
}

// collectors is several as one.
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

// Metrics is what a registry collects of the resource manager.
func (r *RM) Metrics() prometheus.Collector { return collectors(r.meters.all()) }
