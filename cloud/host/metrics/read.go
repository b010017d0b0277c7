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

// Ticks is how much time a machine's processors spent since its boot.
type Ticks struct{ Busy, All uint64 }

// Percent is how busy they were since an earlier count.
func (t Ticks) Percent(since Ticks) (percent float64, known bool) {
	if t.All <= since.All || t.Busy < since.Busy {
		return 0, false
	}
	return 100 * float64(t.Busy-since.Busy) / float64(t.All-since.All), true
}

// parseStat reads /proc/stat: user, nice, system, idle, iowait, irq, softirq,
// steal. Guests are counted in user already.
func parseStat(text []byte) (Ticks, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return Ticks{}, fmt.Errorf("read /proc/stat: %q is not what it begins with", line)
	}
	var t Ticks
	for i, field := range fields[1:9] {
		n, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return Ticks{}, fmt.Errorf("read /proc/stat: %w", err)
		}
		t.All += n
		if i != 3 && i != 4 { // idle, and idle for want of a disk
			t.Busy += n
		}
	}
	return t, nil
}

// parseMemory reads from /proc/meminfo how much of the memory is in use.
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
		return 0, errors.New("read /proc/meminfo: it does not say how much memory there is")
	}
	return 100 * (all - free) / all, nil
}

// diskUsage says how much of the file system at a path is in use, as df does.
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

// GPU is one graphics processor at one moment.
type GPU struct {
	Index string
	// Busy and Memory are in percent.
	Busy, Memory float64
}

// parseGPUs reads what nvidia-smi prints for gpuQuery: "0, 37, 1024, 24576". A
// value that a card does not have is "[N/A]" or "[Not Supported]"; such a card
// is left out.
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
