package logs

import "github.com/prometheus/client_golang/prometheus"

// Metrics are the metrics of all followers.
type Metrics struct {
	streams     prometheus.Gauge
	lines, gaps prometheus.Counter
}

// NewMetrics returns metrics that are not registered yet.
func NewMetrics() *Metrics {
	return &Metrics{
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "det_deploy_pod_log_streams", Help: "Logs of pods that are being followed.",
		}),
		lines: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "det_deploy_pod_log_lines_total", Help: "Lines of pods that were stored.",
		}),
		gaps: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "det_deploy_pod_log_gaps_total", Help: "Places in logs of pods where lines may be missing; each is said in the task's log.",
		}),
	}
}

// Collectors returns the collectors to register.
func (m *Metrics) Collectors() []prometheus.Collector {
	return []prometheus.Collector{m.streams, m.lines, m.gaps}
}
