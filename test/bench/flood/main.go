// Command flood starts a master and sends it floods of unauthenticated and authenticated requests, one
// kind after the other. It prints the peak of private memory above the idle value during each flood,
// and the remainder some time later. All connections use the loopback interface.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// flood is one kind of load.
type flood struct {
	name string
	do   func(ctx context.Context, m *measured) error
}

// enough is the growth over the memory at rest that counts as recovered, in bytes.
const enough = 40 << 20

func floods() []flood {
	return []flood{
		{"agents that send no hello, 2,000 connections", silentAgents},
		{"agents with a name of 4 MB of zero bytes, 40 at a time", longAgents},
		{"logins with names of 1 MB, 40 at a time", longLogins},
		{"wrong passwords, 64 at a time", wrongPasswords},
		{"connections without a request, 5,000", silentConnections},
		{"headers that never end, 2,000", slowHeaders},
		{"bodies of 900 KB that never end, 500", slowBodies},
		{"contexts of 100 MB, 6 at a time", contexts},
		{"a context of 100 MB read, 6 at a time", contextReads},
		{"configurations of 100,000 numbers, 64 at a time (rejected)", manyValues},
		{"log calls of 1,000 lines of 15 KB, 8 at a time", ship(1000, 15_000)},
		{"log calls of 10,000 lines of 20 bytes, 8 at a time", ship(10_000, 20)},
		{"paths and parameters of 60 KB, 64 at a time", longPaths},
	}
}

func main() {
	bin := flag.String("bin", "bin/det-deploy", "program to measure")
	lasting := flag.Duration("for", 10*time.Second, "duration of each flood")
	after := flag.Duration("after", time.Minute, "time limit for the master to release memory")
	only := flag.String("only", "", "run only floods whose names contain this text")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	defer stop()
	if err := run(ctx, *bin, *only, times{*lasting, *after}); err != nil {
		fmt.Fprintln(os.Stderr, "flood:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// times is how long each flood lasts, and how long the master has to recover from it.
type times struct{ lasting, after time.Duration }

func run(ctx context.Context, bin, only string, n times) (err error) {
	m, err := start(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	rest, err := m.atRest(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%-58s %4d MB\n", "idle, private memory", rest>>20)
	for _, f := range floods() {
		if !strings.Contains(f.name, only) {
			continue
		}
		most, err := m.during(ctx, n.lasting, f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		left, took, err := m.settled(ctx, rest+enough, n.after)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(os.Stdout, "%-58s %4d MB more, %d MB more after %s\n", f.name, (most-rest)>>20, (left-rest)>>20, took.Round(time.Second))
	}
	size, err := m.LogSize()
	fmt.Fprintf(os.Stdout, "%-58s %4d MB\n", "the master's log, in total", size>>20)
	return err
}
