// Command flood starts a master and floods it as strangers and users could, one way
// after the other, and prints what it costs: the most private memory during each flood,
// and what is left a while later. Everything stays on this machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// flood is one way to cost a master something.
type flood struct {
	name string
	do   func(ctx context.Context, m *master) error
}

func floods() []flood {
	return []flood{
		{"agents that say nothing, 2,000 connections", silentAgents},
		{"agents with 4 MB of zero bytes for a name, 40 at a time", longAgents},
		{"logins with names of 1 MB, 40 at a time", longLogins},
		{"wrong passwords, 64 at a time", wrongPasswords},
		{"connections without a word, 5,000", silentConnections},
		{"headers that never end, 2,000", slowHeaders},
		{"bodies of 900 KB that never end, 500", slowBodies},
		{"contexts of 100 MB, 6 at a time", contexts},
		{"paths and parameters of 60 KB, 64 at a time", longPaths},
	}
}

func main() {
	bin := flag.String("bin", "bin/det-deploy", "program to measure")
	lasting := flag.Duration("for", 10*time.Second, "how long each flood lasts")
	after := flag.Duration("after", time.Minute, "how long the master may take to give memory back")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is a program's start
	defer stop()
	if err := run(ctx, *bin, *lasting, *after); err != nil {
		fmt.Fprintln(os.Stderr, "flood:", err)
		os.Exit(1) //nolint:forbidigo // only main exits, and this is main
	}
}

func run(ctx context.Context, bin string, lasting, after time.Duration) (err error) {
	m, err := start(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	rest, err := m.memory()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "%-58s %4d MB\n", "at rest, private memory", rest>>20)
	for _, f := range floods() {
		most, err := m.during(ctx, lasting, f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		left, took, err := m.settled(ctx, rest+40<<20, after)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(os.Stdout, "%-58s %4d MB, %d MB after %s\n", f.name, most>>20, left>>20, took.Round(time.Second))
	}
	size, err := m.logSize()
	fmt.Fprintf(os.Stdout, "%-58s %4d MB\n", "the master's log, in all", size>>20)
	return err
}
