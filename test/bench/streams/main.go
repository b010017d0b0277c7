// Command streams measures streams into a container of an agent beside the same without det-deploy: a
// direct connection, and the forwarding of a port by ssh to the same machine. The agent is part of this
// process and serves streams as real agents do, to services of this machine instead of containers. All
// connections are on the loopback. With -namespace, it measures those into a pod beside kubectl's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/det-deploy/det-deploy/test/bench/master"
)

func main() {
	bin := flag.String("bin", "bin/det-deploy", "program to measure")
	idle := flag.Int("idle", 200, "streams that are open and idle")
	namespace := flag.String("namespace", "", "measure a pod in this namespace of the tasks of DET_MASTER, beside kubectl")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	var err error
	if *namespace != "" {
		err = measurePod(ctx, *bin, *namespace, printer())
	} else {
		err = run(ctx, *bin, *idle)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// dialer connects to a port of this machine in one of the ways.
type dialer func(ctx context.Context, port int) (net.Conn, error)

func direct(ctx context.Context, port int) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
}

func run(ctx context.Context, bin string, idle int) (err error) {
	c, err := startCluster(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	s, err := serve(ctx)
	if err != nil {
		return err
	}
	say := printer()
	ways := map[string]dialer{"direct": direct, "stream": c.dial}
	if f, err := forwardBySSH(ctx, c.Dir, s.echo, s.source); err == nil {
		defer f.stop()
		ways["ssh -L"] = f.dial
	} else {
		say("ssh", "not measured: %v", err)
	}
	for _, name := range []string{"direct", "ssh -L", "stream", "direct", "ssh -L", "stream"} {
		if ways[name] == nil {
			continue
		}
		if err := compare(ctx, ways[name], s, func(what, format string, args ...any) { say(name+", "+what, format, args...) }); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return measureIdle(ctx, c, s, idle, say)
}

// printer returns a function that prints a line of figures.
func printer() func(what, format string, args ...any) {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	return func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(out, "%s\t"+format+"\n", append([]any{what}, args...)...)
		_ = out.Flush()
	}
}

func compare(ctx context.Context, dial dialer, s services, say func(what, format string, args ...any)) error {
	opened, err := openings(ctx, dial, s.echo, 100)
	if err != nil {
		return err
	}
	say("until the first answer", "p50 %v, p99 %v", at(opened, 50), at(opened, 99))
	turns, err := roundTrips(ctx, dial, s.echo, 3000)
	if err != nil {
		return err
	}
	say("round trip of a byte", "p50 %v, p99 %v", at(turns, 50), at(turns, 99))
	rate, err := throughput(ctx, dial, s.source, 256<<20)
	if err != nil {
		return err
	}
	say("one stream", "%.0f MB/s", rate)
	return nil
}

// at returns a percentile.
func at(all []time.Duration, percent int) time.Duration {
	slices.Sort(all)
	return all[min(len(all)-1, len(all)*percent/100)].Round(time.Microsecond)
}

func measureIdle(ctx context.Context, c *cluster, s services, n int, say func(what, format string, args ...any)) error {
	master.Pause(ctx, 8*time.Second) // the memory of the measurements is released
	before, err := c.Memory()
	if err != nil {
		return err
	}
	for range n {
		conn, err := c.dial(ctx, s.echo)
		if err != nil {
			return err
		}
		defer conn.Close() //nolint:errcheck // the cluster is stopped
		if _, err := turn(conn); err != nil {
			return err
		}
	}
	master.Pause(ctx, 8*time.Second)
	after, err := c.Memory()
	say(fmt.Sprintf("%d idle streams, memory of the master", n), "+ %.1f MB", float64(after-before)/(1<<20))
	return err
}
