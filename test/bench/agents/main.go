// Command agents measures a master with many agents: the cost to admit them and to keep them
// connected, the time until all are reconnected after a restart, and the memory of a master without
// agents. The agents are part of this process: they use the link of real agents without a task
// runtime, so that their half of each connection is real. All connections are on the loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"text/tabwriter"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/measure"
)

func main() {
	bin := flag.String("bin", "bin/det-deploy", "program to measure")
	most := flag.Int("agents", 10_000, "agents of the largest measurement; there is one with a tenth and one with a hundredth")
	quiet := flag.Duration("quiet", 30*time.Second, "how long the agents that have nothing to do are looked at")
	encrypted := flag.Bool("tls", false, "encrypt the connections")
	only := flag.String("only", "", "a part: rest, agents, or largest for the last number of agents")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	err := run(ctx, options{*bin, *most, *quiet, *encrypted, *only})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// options are the program's flags.
type options struct {
	bin       string
	most      int
	quiet     time.Duration
	encrypted bool
	only      string
}

// sayer prints one figure.
type sayer func(what, format string, args ...any)

func run(ctx context.Context, o options) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	say := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%s\t"+format+"\n", append([]any{what}, args...)...)
		_ = out.Flush()
	}
	if o.only == "" || o.only == "rest" {
		if err := measureRest(ctx, o, say); err != nil {
			return err
		}
	}
	if o.only == "rest" {
		return nil
	}
	var grown measure.Growth
	sizes := []int{o.most / 100, o.most / 10, o.most}
	if o.only == "largest" {
		sizes = sizes[2:]
	}
	for _, n := range sizes {
		f, err := measureAgents(ctx, o, n)
		if err != nil {
			return fmt.Errorf("%d agents: %w", n, err)
		}
		f.print(n, say)
		f.compareGrowth(&grown, n)
	}
	return grown.Err()
}
