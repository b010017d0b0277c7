// Command kubelab starts and stops a small, real Kubernetes cluster on one Linux machine, for
// tests; kube.sh builds and calls it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/test/kube/lab"
)

func main() {
	os.Exit(run()) //nolint:forbidigo // this is main
}

func run() int {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // this is the top of a program
	defer cancel()
	l, err := lab.FromEnv(os.Getenv)
	if err == nil {
		err = root(l).ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubelab:", err)
		return 1
	}
	return 0
}

func root(l *lab.Lab) *cobra.Command {
	c := &cobra.Command{
		Use: "kubelab", Short: "A small, real Kubernetes cluster for tests",
		SilenceErrors: true, SilenceUsage: true,
	}
	c.AddCommand(up(l), down(l), status(l), env(l), kubectl(l), nodes(l), images(l), nsrun(l))
	c.AddCommand(parts(l)...)
	return c
}
