package metrics

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Ticks is the CPU time of a machine since its boot.
type Ticks struct{ Busy, All uint64 }

// Percent returns the utilization since an earlier reading. Known is false if the counters did not
// advance.
func (t Ticks) Percent(since Ticks) (percent float64, known bool) {
	if t.All <= since.All || t.Busy < since.Busy {
		return 0, false
	}
	return 100 * float64(t.Busy-since.Busy) / float64(t.All-since.All), true
}

// parseStat parses /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. Guest time is
// already included in user.
func parseStat(text []byte) (Ticks, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return Ticks{}, fmt.Errorf("read /proc/stat: unexpected first line %q", line)
	}
	var t Ticks
	for i, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return Ticks{}, fmt.Errorf("read /proc/stat: %w", err)
		}
		t.All += n
		if i != 3 && i != 4 { // idle and iowait
			t.Busy += n
		}
	}
	return t, nil
}

// parseMemory returns the memory utilization from /proc/meminfo.
func parseMemory(text []byte) (percent float64, err error) {
	found := map[string]float64{}
	for scan := bufio.NewScanner(bytes.NewReader(text)); scan.Scan(); {
		name, value, _ := strings.Cut(scan.Text(), ":")
		number, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		if n, err := strconv.ParseFloat(number, 64); err == nil {
			found[name] = n
		}
	}
	all, free := found["MemTotal"], found["MemAvailable"]
	if all <= 0 {
		return 0, errors.New("read /proc/meminfo: the total or available memory is missing")
	}
	return 100 * (all - free) / all, nil
}

// diskUsage returns the utilization of the file system at a path, calculated like df's.
func diskUsage(path string) (percent float64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	used := float64(s.Blocks - s.Bfree)
	if used+float64(s.Bavail) == 0 {
		return 0, nil
	}
	return 100 * used / (used + float64(s.Bavail)), nil
}

// GPU is a reading of one GPU.
type GPU struct {
	Index string
	// Busy and Memory are percentages.
	Busy, Memory float64
}

// parseGPUs parses the output of nvidia-smi for gpuQuery: "0, 37, 1024, 24576". It skips GPUs that
// report "[N/A]" or "[Not Supported]".
func parseGPUs(text []byte) []GPU {
	var gpus []GPU
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(line, ",")
		if len(fields) != 4 {
			continue
		}
		var n [3]float64
		whole := true
		for i := range n {
			v, err := strconv.ParseFloat(strings.TrimSpace(fields[i+1]), 64)
			n[i], whole = v, whole && err == nil
		}
		if whole && n[2] > 0 {
			gpus = append(gpus, GPU{Index: strings.TrimSpace(fields[0]), Busy: n[0], Memory: 100 * n[1] / n[2]})
		}
	}
	return gpus
}
