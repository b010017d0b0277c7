// Command cluster measures a master and one agent from outside, as a user does: through the HTTP
// API, with the process runtime and the embedded database. It prints one line for each figure.
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

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/test/bench/measure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	if isTrial() {
		if err := runTrial(ctx, os.Args); err != nil {
			fmt.Fprintln(os.Stderr, "trial:", err)
			os.Exit(1) //nolint:forbidigo // this is main
		}
		return
	}
	bin := flag.String("bin", "bin/det-deploy", "the program to measure")
	tasks := flag.Int("tasks", 2000, "short tasks to run")
	trials := flag.Int("trials", 100, "tiny trials to run, and ten times as many")
	only := flag.String("only", "", "measure one part: trials, tasks, start")
	flag.Parse()
	err := measureAll(ctx, *bin, sizes{*tasks, *trials, *only})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// sizes is the amount of work of each measurement.
type sizes struct {
	tasks, trials int
	// only selects one part; empty selects all.
	only string
}

func measureAll(ctx context.Context, bin string, n sizes) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	say := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%s\t"+format+"\n", append([]any{what}, args...)...)
		_ = out.Flush()
	}
	if n.only == "" || n.only == "start" {
		start := func(c *cluster) error { return c.measureStart(ctx, say) }
		if err := withCluster(ctx, bin, isolated, say, start); err != nil {
			return err
		}
	}
	if n.only == "" || n.only == "tasks" {
		if err := measureTasks(ctx, bin, n.tasks, say); err != nil {
			return err
		}
	}
	if n.only == "" || n.only == "trials" {
		trials := func(c *cluster) error { return c.measureTrials(ctx, n.trials, say) }
		return withCluster(ctx, bin, isolated, say, trials)
	}
	return nil
}

// sayer prints one figure.
type sayer func(what, format string, args ...any)

// measureTasks measures two clusters: one isolates its tasks if the agent is root, the other does
// not.
func measureTasks(ctx context.Context, bin string, tasks int, say sayer) error {
	return errors.Join(
		withCluster(ctx, bin, plain, say, func(c *cluster) error { return c.measurePlain(ctx, tasks, say) }),
		withCluster(ctx, bin, isolated, say, func(c *cluster) error { return c.measureSustained(ctx, "isolated short tasks", tasks, 30, say) }),
	)
}

// withCluster runs measure with a new master and its agent.
func withCluster(ctx context.Context, bin, isolation string, say sayer, measure func(*cluster) error) error {
	c, err := newCluster(ctx, bin, isolation)
	if err != nil {
		return err
	}
	defer c.stop()
	ready, err := c.startMaster(ctx)
	if err != nil {
		return err
	}
	say("master ready on an empty store", "%d ms (promise 1000)", ready.Milliseconds())
	if err := c.startAgent(ctx); err != nil {
		return err
	}
	return measure(c)
}

// measurePlain restarts the master before and after the tasks.
func (c *cluster) measurePlain(ctx context.Context, tasks int, say sayer) error {
	if err := c.measureReads(ctx, say); err != nil {
		return err
	}
	var grown measure.Growth
	if err := c.measureRestarts(ctx, 0, &grown, say); err != nil {
		return err
	}
	err := c.measureSustained(ctx, "short tasks", tasks, 100, say)
	return errors.Join(err, c.measureRestarts(ctx, sustainedRuns*tasks, &grown, say), grown.Err())
}

func (c *cluster) measureReads(ctx context.Context, say sayer) error {
	_ = wait.For(ctx, 10*time.Second) // the login before took 19 MB, which the runtime releases slowly
	say("master at rest, resident", "%d MB (promise 200)", c.resident())
	c.measureAgentMemory(say)
	for _, path := range []string{"/api/v1/me", "/api/v1/agents"} {
		rate, err := c.reads(ctx, path, 3*time.Second)
		if err != nil {
			return err
		}
		say("authenticated reads, "+path, "%.0f/s (promise 5000)", rate)
	}
	p50, p99, err := c.followLatency(ctx)
	if err != nil {
		return err
	}
	say("log line printed → seen by a follower", "p50 %d ms, p99 %d ms (promise 100)", p50.Milliseconds(), p99.Milliseconds())
	return nil
}

// measureTrials compares each figure with the same figure at ten times the work.
func (c *cluster) measureTrials(ctx context.Context, trials int, say sayer) error {
	var grown measure.Growth
	for _, n := range []int{trials, 10 * trials} {
		took, processor, err := c.tinyTrials(ctx, n)
		if err != nil {
			return err
		}
		each := processor / time.Duration(n)
		say(fmt.Sprintf("%d trials of a tiny program, their whole life", n), "%.0f/s (promise 30), %.1f ms of processor time each", float64(n)/took.Seconds(), each.Seconds()*1000)
		grown.See("processor time of a tiny trial", n, processor.Seconds(), 0.01*float64(n))
	}
	for _, n := range []int{10, 60} {
		took, err := c.pauses(ctx, n)
		if err != nil {
			return err
		}
		say(fmt.Sprintf("pause → program, %d at once", n), "p50 %d ms, p99 %d ms (promise 200)", percentile(took, 50).Milliseconds(), percentile(took, 99).Milliseconds())
		grown.See("from a pause to the program", 1, percentile(took, 50).Seconds(), 0.05)
	}
	for _, n := range []int{10, 60} {
		took, err := c.stops(ctx, n)
		if err != nil {
			return err
		}
		say(fmt.Sprintf("searcher's stop → next trial started, %d trials", n), "p50 %d ms, p99 %d ms (promise 1000)", percentile(took, 50).Milliseconds(), percentile(took, 99).Milliseconds())
		grown.See("from a stop to the next trial", 1, percentile(took, 50).Seconds(), 0.2)
	}
	return grown.Err()
}
