package history

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/master"
)

const (
	// Pages are measured with so many ended experiments, one of which has so many trials.
	shownExperiments = 10_000
	shownTrials      = 1_000
	// mostBytes is the size of a page.
	mostBytes = 100_000
)

// BenchmarkPages measures the time until the first byte of web pages, and their size.
func BenchmarkPages(b *testing.B) {
	m, bin := startMaster(b)
	if err := m.Ask(b.Context(), http.MethodPost, "experiments", map[string]any{"config": configuration, "activate": true}, nil); err != nil {
		b.Fatal(err)
	}
	if _, err := m.Restart(b.Context(), bin, "", func(database string) error {
		return fill(b.Context(), database, shownExperiments, shownTrials)
	}); err != nil {
		b.Fatal(err)
	}
	large := fmt.Sprintf("/det/experiments/%d", firstEnded)
	for name, path := range map[string]string{
		"overview": "/det/", "experiments": "/det/experiments", "experiments_by_name": "/det/experiments?sort=name", "experiment": large,
		"hyperparameters": large + "/hyperparameters", "search": large + "/search", "curves": large + "/curves.json", "trial": fmt.Sprintf("%s/trials/%d", large, firstTrial),
	} {
		b.Run(name, func(b *testing.B) { openPage(b, m, path) })
	}
}

// openPage opens a page repeatedly, as an administrator.
func openPage(b *testing.B, m *master.Master, path string) {
	b.Helper()
	_, port, err := net.SplitHostPort(m.Addr)
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	var size int64
	for b.Loop() {
		r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, m.URL()+path, nil)
		if err != nil {
			b.Fatal(err)
		}
		r.AddCookie(&http.Cookie{Name: "det_session_" + port, Value: m.Token})
		began := time.Now()
		resp, err := http.DefaultTransport.RoundTrip(r) // it follows no redirect
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		size, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close() // it was only read
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("%s: %d, %v", path, resp.StatusCode, err)
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(size)/1000, "kB")
	if size > mostBytes {
		b.Errorf("%s has %d bytes, want at most %d", path, size, mostBytes)
	}
}
