// Command elastic measures a resource pool that launches its machines through the HTTP API, as a
// user does, with agents as processes of this machine. It prints one line per figure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/master"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	bin := flag.String("bin", "bin/det-deploy", "program to measure")
	tasks := flag.Int("tasks", 1000, "number of short tasks")
	agents := flag.Int("agents", 100, "maximum number of agents to launch")
	rest := flag.Duration("rest", time.Minute, "duration of the measurement of an idle pool")
	flag.Parse()
	err := measure(ctx, *bin, size{tasks: *tasks, agents: *agents, rest: *rest})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// size is the amount of work.
type size struct {
	tasks, agents int
	rest          time.Duration
}

func measure(ctx context.Context, bin string, n size) (err error) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	figure := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%s\t"+format+"\n", append([]any{what}, args...)...)
		_ = out.Flush()
	}
	m, err := start(ctx, bin, n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	first, err := m.run(ctx, 1)
	if err != nil {
		return err
	}
	figure("one task on a new machine, from submission to end", "%d ms", first.Milliseconds())
	took, err := m.run(ctx, n.tasks)
	if err != nil {
		return err
	}
	figure(fmt.Sprintf("%d tasks on up to %d launched agents", n.tasks, n.agents), "%.1f s", took.Seconds())
	waits, err := m.metrics(ctx)
	if err != nil {
		return err
	}
	figure("from a pass to the launch call, within 250 ms", "%.0f of %.0f calls (limit: all)", waits.quick, waits.all)
	if err := m.empty(ctx); err != nil {
		return err
	}
	before, err := m.metrics(ctx)
	if err != nil {
		return err
	}
	cpu := m.Processor()
	master.Pause(ctx, n.rest)
	after, err := m.metrics(ctx)
	if err != nil {
		return err
	}
	figure("calls to the platform while idle", "%.1f a minute", (after.calls-before.calls)/n.rest.Minutes())
	figure("processor time while idle", "%.2f %%", 100*(m.Processor()-cpu).Seconds()/n.rest.Seconds())
	return nil
}
