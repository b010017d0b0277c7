package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// thisProcess is the name of the benchmark among the processes of the cluster.
const thisProcess = "this process"

// readProcesses returns the processor time, to 10 ms, of this process and of each process of a
// cluster of test/kube. dir is the state directory of the cluster, which has a file with the PID of
// each.
func readProcesses(dir string) map[string]time.Duration {
	out := map[string]time.Duration{thisProcess: measure.Processor()}
	files, _ := filepath.Glob(filepath.Join(dir, "pids", "*")) // the pattern is valid
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // the process has exited
		}
		var pid int
		if _, err := fmt.Sscan(string(text), &pid); err == nil {
			out[filepath.Base(f)], _ = measure.ProcessorOf(pid)
		}
	}
	return out
}

// printProcesses prints the processor time of each process, for each pod until all run: all of them
// share the machine's cores, which are saturated.
func printProcesses(out io.Writer, plain, ours *cost) {
	fmt.Fprintln(out, "  processor time a pod until all run, ms:")
	sum := func(c *cost) (all time.Duration) {
		for _, d := range c.busy {
			all += d
		}
		return all
	}
	row := func(name string, a, b time.Duration) {
		fmt.Fprintf(out, "    %-40s plain %8.2f     gangs %8.2f\n", name, plain.perPod(a), ours.perPod(b))
	}
	for _, name := range slices.SortedFunc(maps.Keys(ours.busy), func(a, b string) int { return cmp.Compare(ours.busy[b], ours.busy[a]) }) {
		row(name, plain.busy[name], ours.busy[name])
	}
	row("all", sum(plain), sum(ours))
}
