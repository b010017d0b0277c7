package metrics

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProcessors(t *testing.T) {
	t.Parallel()
	before, err := parseStat([]byte("cpu  100 0 50 800 50 0 0 0 9 9\ncpu0 1 1 1 1 1 1 1 1\n"))
	if d := cmp.Diff(before, Ticks{Busy: 150, All: 1000}); err != nil || d != "" {
		t.Fatalf("got %v, -; want +:\n%s", err, d)
	}
	if got, known := (Ticks{Busy: 200, All: 1200}).Percent(before); got != 25 || !known {
		t.Errorf("got %v, %v; want 25", got, known)
	}
	if _, known := before.Percent(before); known {
		t.Error("got a value for an empty interval")
	}
	if _, err := parseStat([]byte("intr 1 2 3")); err == nil {
		t.Error("got no error for an invalid line")
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	got, err := parseMemory([]byte("MemTotal:        8000 kB\nMemFree:          100 kB\nMemAvailable:    6000 kB\nHugePages_Total:       0\n"))
	if err != nil || got != 25 {
		t.Errorf("got %v, %v; want 25", got, err)
	}
	if _, err := parseMemory(nil); err == nil {
		t.Error("got no error for an empty file")
	}
}

func TestGPUs(t *testing.T) {
	t.Parallel()
	got := parseGPUs([]byte("0, 37, 6144, 24576\n1, [N/A], [N/A], [N/A]\n2, 0, 0, 24576\nNo devices were found\n"))
	if d := cmp.Diff(got, []GPU{{"0", 37, 25}, {"2", 0, 0}}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

// recorder is a fake sink that stores reports or returns an error.
type recorder struct {
	reports [][]Point
	err     error
}

func (r *recorder) Send(_ context.Context, points []Point, _ time.Time) error {
	r.reports = append(r.reports, points)
	return r.err
}

func TestReportInterval(t *testing.T) {
	t.Setenv("PATH", "") // no nvidia-smi; a test that sets PATH cannot be parallel
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		c := &recorder{err: errors.New("cloudwatch:PutMetricData: not authorized")}
		r := &Reporter{Sink: c, Disks: []string{"/", "/nowhere"}, Log: slog.New(slog.NewTextHandler(&log, nil))}
		ctx, cancel := context.WithTimeout(t.Context(), 10*Every+time.Second)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(c.reports) != 10 || strings.Count(log.String(), "PutMetricData") != 1 {
			t.Errorf("got %d reports, log %q; want 10, and one failure logged once", len(c.reports), log.String())
		}
		got := map[string]bool{}
		for _, points := range c.reports {
			for _, p := range points {
				key := p.Metric
				for name, value := range p.Of {
					key += " " + name + "=" + value
				}
				got[key] = true
				if p.Percent < 0 || p.Percent > 100 {
					t.Errorf("%s: got %v, want percent", key, p.Percent)
				}
			}
		}
		delete(got, "CPUUtilization") // a minute in a synctest bubble may pass without a CPU tick
		if d := cmp.Diff(got, map[string]bool{"MemoryUtilization": true, "DiskUtilization Path=/": true}); d != "" {
			t.Errorf("got -, want +:\n%s", d)
		}
	})
}
