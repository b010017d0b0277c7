package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// The promises: the ratio of gangs to plain Indexed Jobs of the same pods, requests for each pod,
// and the growth of our own work for each pod with ten times the pods.
const (
	mostRatio  = 1.2
	mostCalls  = 8.0
	mostGrowth = 1.25
)

// cost is the result of one side of a comparison.
type cost struct {
	// run is the time from the first call until all pods run, remove from the first deletion until
	// nothing is left.
	run, remove time.Duration
	pods        int
	// calls counts the requests that the API server answered, by verb and resource; ours those that
	// this process sent.
	calls, ours map[string]float64
	// runCalls counts those of calls until all pods run.
	runCalls map[string]float64
	// own is the processor time of this process, server that of the API server.
	own, server time.Duration
	// busy is the processor time of each process of the cluster, and of this one, until all pods
	// run.
	busy map[string]time.Duration
}

func (c *cost) add(o cost) {
	c.run, c.remove, c.pods = c.run+o.run, c.remove+o.remove, c.pods+o.pods
	c.own, c.server = c.own+o.own, c.server+o.server
	c.calls, c.runCalls, c.ours = sumOf(c.calls, o.calls), sumOf(c.runCalls, o.runCalls), sumOf(c.ours, o.ours)
	c.busy = sumOf(c.busy, o.busy)
}

func sumOf[N float64 | time.Duration](sum, more map[string]N) map[string]N {
	if sum == nil {
		sum = make(map[string]N, len(more))
	}
	for key, n := range more {
		sum[key] += n
	}
	return sum
}

// countPerPod is how many requests there were for each pod.
func (c *cost) countPerPod(calls map[string]float64) float64 {
	sum := 0.0
	for _, n := range calls {
		sum += n
	}
	return sum / float64(c.pods)
}

func (c *cost) perPod(d time.Duration) float64 { return d.Seconds() * 1000 / float64(c.pods) }

// side is one way to run the same pods. run returns when all of them run, and remove when all their
// objects are deleted.
type side struct {
	run, remove func(context.Context) (time.Duration, error)
}

// compareSides runs plain Jobs and gangs in turn on one cluster, at each size. It reports whether a
// promise was broken.
func compareSides(ctx context.Context, file string, s size, rounds int, out io.Writer) (broken bool, err error) {
	var before *cost
	for _, gangs := range []int{max(s.gangs/100, 1), max(s.gangs/10, 1), s.gangs} {
		s.gangs = gangs
		plain, ours := &cost{}, &cost{}
		for range rounds {
			if err := measureSide(ctx, file, s, plain, runPlain); err != nil {
				return broken, fmt.Errorf("plain Jobs: %w", err)
			}
			if err := measureSide(ctx, file, s, ours, runGangs); err != nil {
				return broken, fmt.Errorf("gangs: %w", err)
			}
		}
		broken = printComparison(out, s, plain, ours) || broken
		if before != nil {
			growth := ours.perPod(ours.own) / before.perPod(before.own)
			fmt.Fprintf(out, "our CPU a pod, ten times the pods: %.2f × (want at most %.2f)\n", growth, mostGrowth)
			broken = broken || growth > mostGrowth
		}
		before = ours
	}
	return broken, nil
}

// measureSide adds the cost of one turn to sum.
func measureSide(ctx context.Context, file string, s size, sum *cost, run func(context.Context, *caller, size) (side, func() error, error)) error {
	c, err := newCaller(file)
	if err != nil {
		return err
	}
	begin, stop, err := run(ctx, c, s)
	if err != nil {
		return err
	}
	one, err := c.measureLife(ctx, begin, filepath.Dir(file))
	if err != nil {
		return err
	}
	one.pods = s.gangs * s.pods
	sum.add(one)
	return stop()
}

// measureLife measures the cost to run and to remove pods. dir is the state directory of the
// cluster.
func (c *caller) measureLife(ctx context.Context, s side, dir string) (cost, error) {
	if err := c.awaitQuiet(ctx); err != nil {
		return cost{}, err
	}
	calls, server, err := c.readServer(ctx)
	if err != nil {
		return cost{}, err
	}
	ours, own, busy := c.ownCalls(), measure.Processor(), readProcesses(dir)
	var one cost
	if one.run, err = s.run(ctx); err != nil {
		return cost{}, err
	}
	one.busy = subtractCounts(readProcesses(dir), busy)
	between, _, err := c.readServer(ctx)
	if err != nil {
		return cost{}, err
	}
	one.runCalls = subtractCounts(between, calls)
	if one.remove, err = s.remove(ctx); err != nil {
		return cost{}, err
	}
	one.own, one.ours = measure.Processor()-own, subtractCounts(c.ownCalls(), ours)
	after, afterServer, err := c.readServer(ctx)
	if err != nil {
		return cost{}, err
	}
	one.calls, one.server = subtractCounts(after, calls), afterServer-server
	return one, nil
}

// printComparison prints a row for each measure. It reports whether a promise was broken.
func printComparison(out io.Writer, s size, plain, ours *cost) bool {
	fmt.Fprintf(out, "\n%d Indexed Jobs of %d pods, %d pods each turn (sums of all turns)\n", s.gangs, s.pods, s.gangs*s.pods)
	row := func(what string, a, b float64, unit string) float64 {
		fmt.Fprintf(out, "%-44s plain %8.2f %-2s  gangs %8.2f %-2s  %5.2f ×\n", what, a, unit, b, unit, b/a)
		return b / a
	}
	run := row("submitted until all run", plain.run.Seconds(), ours.run.Seconds(), "s")
	remove := row("deleted until nothing is left", plain.remove.Seconds(), ours.remove.Seconds(), "s")
	row("requests a pod at the API server", plain.countPerPod(plain.calls), ours.countPerPod(ours.calls), "")
	row("of them from this process", plain.countPerPod(plain.ours), ours.countPerPod(ours.ours), "")
	row("processor time of the API server a pod", plain.perPod(plain.server), ours.perPod(ours.server), "ms")
	row("processor time of this process a pod", plain.perPod(plain.own), ours.perPod(ours.own), "ms")
	printProcesses(out, plain, ours)
	printCalls(out, plain, ours)
	return run > mostRatio || remove > mostRatio || ours.countPerPod(ours.ours) > mostCalls
}
