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

// Meter counts requests by route. It does not count by path, because clients choose the paths.
type Meter struct {
	requests *prometheus.HistogramVec
}

// NewMeter returns a meter and registers it, together with the metrics of the process, in r.
func NewMeter(r *prometheus.Registry) (*Meter, error) {
	m := &Meter{requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "det_deploy_http_request_seconds",
		Help: "Duration of requests by route, method and status.",
		// The range covers reads from memory as well as long polls.
		Buckets: []float64{.0005, .001, .005, .01, .05, .1, .5, 1, 5, 30, 60},
	}, []string{"route", "method", "status"})}
	for _, c := range []prometheus.Collector{
		m.requests, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("cannot register the server's metrics: %w", err)
		}
	}
	return m, nil
}

// Page serves the metrics of r.
func (m *Meter) Page(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}

// seen records the status of a response. Unwrap gives access to deadlines, flushing and hijacking.
type seen struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the status.
func (s *seen) WriteHeader(code int) {
	if s.status == 0 {
		s.status = code
	}
	s.ResponseWriter.WriteHeader(code)
}

// Unwrap is used by http.ResponseController.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// Count counts the requests to next.
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

// method replaces unknown methods, because clients choose them.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return m
	}
	return "other"
}
