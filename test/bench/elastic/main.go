// Command elastic measures a resource pool that launches its machines, from outside, as a user
// does: through the HTTP API, with agents as processes of this machine. It prints one line for each
// figure.
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
	bin := flag.String("bin", "bin/det-deploy", "the program to measure")
	tasks := flag.Int("tasks", 1000, "short tasks to run")
	agents := flag.Int("agents", 100, "agents that may be launched for them")
	rest := flag.Duration("rest", time.Minute, "how long to look at a pool at rest")
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
	say := func(what, format string, args ...any) {
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
	say("one task from cold, submitted to ended", "%d ms", first.Milliseconds())
	took, err := m.run(ctx, n.tasks)
	if err != nil {
		return err
	}
	say(fmt.Sprintf("%d tasks on up to %d launched agents", n.tasks, n.agents), "%.1f s", took.Seconds())
	waits, err := m.metrics(ctx)
	if err != nil {
		return err
	}
	say("from a pass to the launch call, within 250 ms", "%.0f of %.0f calls (promise: all)", waits.quick, waits.all)
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
	say("calls to the platform at rest", "%.1f a minute", (after.calls-before.calls)/n.rest.Minutes())
	say("processor time at rest", "%.2f %%", 100*(m.Processor()-cpu).Seconds()/n.rest.Seconds())
	return nil
}
