// Package metrics reports how this machine is used to its cloud: processors,
// memory, disks and GPUs, so that an operator sees an idle or a full machine
// without logging in.
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

// Namespace is where metrics go, the one that Determined's own images use.
const Namespace = "Determined"

// Every is how often it is reported: what clouds keep as one point.
const Every = time.Minute

// The metrics, all in percent. Each is of one machine.
const (
	CPU    = "CPUUtilization"
	Memory = "MemoryUtilization"
	// Disk has the dimension Path besides.
	Disk = "DiskUtilization"
	// GPUBusy and GPUMemory have the dimension GPU besides, its number.
	GPUBusy   = "GPUUtilization"
	GPUMemory = "GPUMemoryUtilization"
)

// Point is one value of a metric.
type Point struct {
	Metric string
	// Of is what the value is of, by dimension, besides the machine.
	Of      map[string]string
	Percent float64
}

// Sink is where points are kept.
type Sink interface {
	// Send writes the points of one moment. What is refused is not sent again.
	Send(ctx context.Context, points []Point, at time.Time) error
}

// Reporter reports one machine.
type Reporter struct {
	Sink Sink
	// Disks is the directories whose file systems are reported.
	Disks []string
	Log   *slog.Logger

	last    Ticks
	refused bool // that this was already said
	failing string
}

// Run reports until ctx is done.
func (r *Reporter) Run(ctx context.Context) error {
	r.collectPoints(ctx) // processors are measured from one look to the next
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

// collectPoints measures. What cannot be measured is left out and logged once.
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
		case errors.Is(err, fs.ErrNotExist): // not yet
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
		r.Log.Warn("the use of this machine is measured in part only", "err", err)
	}
	r.failing = text
}

// sendPoints reports points. A report that is refused is lost: the next is a minute
// away.
func (r *Reporter) sendPoints(ctx context.Context, points []Point, now time.Time) {
	err := r.Sink.Send(ctx, points, now)
	switch {
	case ctx.Err() != nil:
	case err != nil && !r.refused:
		r.Log.Warn("the use of this machine cannot be reported; retrying", "err", err)
	case err == nil && r.refused:
		r.Log.Info("the use of this machine is reported again")
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

// readGPUs asks nvidia-smi. A machine without it has none.
func readGPUs(ctx context.Context) ([]GPU, error) {
	// A driver that hangs is to cost one report and not all.
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
