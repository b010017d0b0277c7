package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

// The promises: gangs against plain Indexed Jobs of the same pods, and how much our own work a
// pod may grow when there are ten times as many.
const (
	mostRatio  = 1.2
	mostCalls  = 8.0
	mostGrowth = 1.25
)

// cost is what one side of a comparison took.
type cost struct {
	// run is from the first call until all pods run, remove from the first deletion until
	// nothing is left.
	run, remove time.Duration
	pods        int
	// calls are those that the API server answered, by verb and resource; ours those that
	// this process made.
	calls, ours map[string]float64
	// own is the processor time of this process, server that of the API server.
	own, server time.Duration
}

func (c *cost) add(o cost) {
	c.run, c.remove, c.pods = c.run+o.run, c.remove+o.remove, c.pods+o.pods
	c.own, c.server = c.own+o.own, c.server+o.server
	if c.calls == nil {
		c.calls, c.ours = make(map[string]float64), make(map[string]float64)
	}
	for key, n := range o.calls {
		c.calls[key] += n
	}
	for key, n := range o.ours {
		c.ours[key] += n
	}
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

// side is one way to run the same pods: it returns when nothing of them is left.
type side func(context.Context) (run, remove time.Duration, err error)

// compareSides runs plain Jobs and gangs in turn, on one cluster, at each size. It reports whether a
// promise was not kept.
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

// measureSide adds one turn to what a side has cost.
func measureSide(ctx context.Context, file string, s size, sum *cost, run func(context.Context, *caller, size) (side, func() error, error)) error {
	c, err := newCaller(file)
	if err != nil {
		return err
	}
	begin, stop, err := run(ctx, c, s)
	if err != nil {
		return err
	}
	calls, server, err := c.readServer(ctx)
	if err != nil {
		return err
	}
	ours, own := c.ownCalls(), measure.Processor()
	one := cost{pods: s.gangs * s.pods}
	one.run, one.remove, err = begin(ctx)
	one.own, one.ours = measure.Processor()-own, subtractCalls(c.ownCalls(), ours)
	if err != nil {
		return err
	}
	afterCalls, afterServer, err := c.readServer(ctx)
	if err != nil {
		return err
	}
	one.calls, one.server = subtractCalls(afterCalls, calls), afterServer-server
	sum.add(one)
	return stop()
}

// printComparison prints a row for each measure. It reports whether a promise was not kept.
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
	printCalls(out, plain, ours)
	return run > mostRatio || remove > mostRatio || ours.countPerPod(ours.ours) > mostCalls
}
