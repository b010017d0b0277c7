package guard

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Meter counts requests by route, never by path: paths are made up by clients.
type Meter struct {
	requests *prometheus.HistogramVec
}

// NewMeter returns a meter that r shows, beside what the process takes.
func NewMeter(r *prometheus.Registry) (*Meter, error) {
	m := &Meter{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "det_deploy_http_request_seconds",
		Help: "How long requests took, by route, method and status.",
		// From a read out of memory to a long poll.
		Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 30, 60},
	}, []string{"route", "method", "status"})}
	for _, c := range []prometheus.Collector{
		m.requests, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register the server's metrics: %w", err)
		}
	}
	return m, nil
}

// Page shows what r has counted.
func (m *Meter) Page(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// seen remembers the status of an answer. Unwrap lets deadlines, flushes and
// hijacking through.
type seen struct {
	http.ResponseWriter
	status int
}

// WriteHeader remembers the status.
func (s *seen) WriteHeader(code int) {
	if s.status == 0 {
		s.status = code
	}
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap is how http.ResponseController finds the connection.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Count counts the calls of next.
func (m *Meter) Count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		s := &seen{ResponseWriter: w}
		next.ServeHTTP(s, r)
		code := s.status
		if code == 0 {
			code = http.StatusOK
		}
		m.requests.WithLabelValues(r.Pattern, method(r.Method), strconv.Itoa(code)).Observe(time.Since(start).Seconds())
	})
}

// method keeps made-up methods out of the metrics.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return m
	}
	return "other"
}
