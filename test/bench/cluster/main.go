// Command cluster measures a master and one agent as a user meets them: from
// outside, through the HTTP API, with the process runtime and the embedded
// database. It prints one line a figure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/det-deploy/det-deploy/delay"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	bin := flag.String("bin", "bin/det-deploy", "the program to measure")
	tasks := flag.Int("tasks", 2000, "short tasks to run")
	flag.Parse()
	err := measure(ctx, *bin, *tasks)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // only main exits, and this is main
	}
}

func measure(ctx context.Context, bin string, tasks int) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	say := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%s\t"+format+"\n", append([]any{what}, args...)...)
		_ = out.Flush()
	}
	c, err := newCluster(ctx, bin)
	if err != nil {
		return err
	}
	defer c.stop()
	ready, err := c.startMaster(ctx)
	if err != nil {
		return err
	}
	say("master ready on an empty store", "%d ms (promise 500)", ready.Milliseconds())
	if err := c.startAgent(ctx); err != nil {
		return err
	}
	_ = delay.For(ctx, 10*time.Second) // the login before took 19 MB, which the runtime gives back slowly
	say("master at rest, resident", "%d MB (promise 60)", c.resident())
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
	say("log line printed → seen by a follower", "p50 %d ms, p99 %d ms (promise 300)", p50.Milliseconds(), p99.Milliseconds())
	accepted, took, err := c.shortTasks(ctx, tasks)
	if err != nil {
		return err
	}
	say(fmt.Sprintf("%d short tasks, submitted to accepted", tasks), "%.0f/s", float64(tasks)/accepted.Seconds())
	say(fmt.Sprintf("%d short tasks, submitted to ended", tasks), "%.0f/s (promise 200)", float64(tasks)/took.Seconds())
	return nil
}
