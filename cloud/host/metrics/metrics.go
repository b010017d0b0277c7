// Package metrics reports the CPU, memory, disk and GPU utilization of the machine to its cloud, so
// that operators see idle and overloaded machines without logging in.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"time"
)

// Namespace is the CloudWatch namespace. Determined's own images use the same.
const Namespace = "Determined"

// Every is the reporting interval, the standard resolution of the clouds' metrics.
const Every = time.Minute

// The metrics of one machine, in percent.
const (
	CPU    = "CPUUtilization"
	Memory = "MemoryUtilization"
	// Disk has the additional dimension Path.
	Disk = "DiskUtilization"
	// GPUBusy and GPUMemory have the additional dimension GPU, the index of the GPU.
	GPUBusy   = "GPUUtilization"
	GPUMemory = "GPUMemoryUtilization"
)

// Point is one value of a metric.
type Point struct {
	Metric string
	// Of holds the dimensions besides the instance.
	Of      map[string]string
	Percent float64
}

// Sink stores points.
type Sink interface {
	// Send writes the points of one moment. Points are not sent again after an error.
	Send(ctx context.Context, points []Point, at time.Time) error
}

// Reporter reports the metrics of one machine.
type Reporter struct {
	Sink Sink
	// Disks are the directories whose file systems are reported.
	Disks []string
	Log   *slog.Logger

	last    Ticks
	refused bool // whether the current failure is already logged
	failing string
}

// Run reports metrics until ctx is done.
func (r *Reporter) Run(ctx context.Context) error {
	r.collectPoints(ctx) // CPU utilization is measured between two calls
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			r.sendPoints(ctx, r.collectPoints(ctx), now)
		}
	}
}

// collectPoints measures all metrics. It omits those that cannot be measured and logs the error
// once.
func (r *Reporter) collectPoints(ctx context.Context) []Point {
	var points []Point
	var errs []error
	if ticks, err := procStat(); err != nil {
		errs = append(errs, err)
	} else {
		if percent, known := ticks.Percent(r.last); known {
			points = append(points, Point{Metric: CPU, Percent: percent})
		}
		r.last = ticks
	}
	if text, err := os.ReadFile("/proc/meminfo"); err != nil {
		errs = append(errs, err)
	} else if percent, err := parseMemory(text); err != nil {
		errs = append(errs, err)
	} else {
		points = append(points, Point{Metric: Memory, Percent: percent})
	}
	for _, path := range r.Disks {
		percent, err := diskUsage(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // no such file or directory yet
		case err != nil:
			errs = append(errs, err)
		default:
			points = append(points, Point{Metric: Disk, Of: map[string]string{"Path": path}, Percent: percent})
		}
	}
	gpus, err := readGPUs(ctx)
	errs = append(errs, err)
	for _, g := range gpus {
		of := map[string]string{"GPU": g.Index}
		points = append(points, Point{GPUBusy, of, g.Busy}, Point{GPUMemory, of, g.Memory})
	}
	r.logTrouble(errors.Join(errs...))
	return points
}

func (r *Reporter) logTrouble(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if err != nil && text != r.failing {
		r.Log.Warn("cannot measure some metrics", "err", err)
	}
	r.failing = text
}

// sendPoints sends points. If it fails, they are dropped: the next ones follow in a minute.
func (r *Reporter) sendPoints(ctx context.Context, points []Point, now time.Time) {
	err := r.Sink.Send(ctx, points, now)
	switch {
	case ctx.Err() != nil:
	case err != nil && !r.refused:
		r.Log.Warn("cannot send metrics; retrying", "err", err)
	case err == nil && r.refused:
		r.Log.Info("sending metrics again")
	}
	r.refused = err != nil
}

func procStat() (Ticks, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return Ticks{}, err
	}
	return parseStat(text)
}

// readGPUs queries nvidia-smi. It returns no GPUs if the program is not installed.
func readGPUs(ctx context.Context) ([]GPU, error) {
	// A driver that hangs must not block later reports.
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "nvidia-smi",
		"--query-gpu=index,utilization.gpu,memory.used,memory.total", "--format=csv,noheader,nounits").Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run nvidia-smi: %w", err)
	}
	return parseGPUs(out), nil
}
