package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/test/kube/lab"
)

func up(l *lab.Lab) *cobra.Command {
	var o lab.Options
	c := &cobra.Command{Use: "up", Short: "Start the cluster; up again changes nothing", Args: cobra.NoArgs}
	f := c.Flags()
	f.StringVar((*string)(&o.Mode), "mode", string(lab.Node), `"api": control plane and fake nodes only, no root needed; "node": and a real node that runs containers`)
	f.IntVar(&o.FakeNodes, "fake-nodes", -1, "fake (KWOK) nodes; by default 2 in api mode, none beside a real node")
	f.IntVar(&o.FakeGPUs, "fake-gpus", 8, "nvidia.com/gpu of each fake node")
	f.IntVar(&o.GPUs, "gpus", 0, "nvidia.com/gpu of the real node, with nothing behind them")
	f.StringVar(&o.Containerd, "containerd", "containerd", "containerd program of the real node")
	f.StringArrayVar(&o.Images, "image", nil, "image archive to load on the real node; may be repeated")
	f.StringArrayVar(&o.Args, "arg", nil, "COMPONENT=--FLAG, a further flag such as kube-apiserver=--v=4; may be repeated")
	c.RunE = func(c *cobra.Command, _ []string) error {
		began := time.Now()
		tell := func(what string) { fmt.Fprintf(c.ErrOrStderr(), "%6.2fs  %s\n", time.Since(began).Seconds(), what) }
		if err := l.Up(c.Context(), o, tell); err != nil {
			return err
		}
		tell("the cluster is up")
		fmt.Fprintf(c.OutOrStdout(), "export KUBECONFIG=%s\n", l.Kubeconfig())
		return nil
	}
	return c
}

func down(l *lab.Lab) *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "Stop the cluster and remove its state", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return l.Down(c.Context()) },
	}
}

func status(l *lab.Lab) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Processes, memory, nodes and pods", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return l.Status(c.Context(), c.OutOrStdout()) },
	}
}

func env(l *lab.Lab) *cobra.Command {
	return &cobra.Command{
		Use: "env", Short: "Print shell lines that set KUBECONFIG, KUBEBUILDER_ASSETS and PATH", Args: cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) {
			fmt.Fprintf(c.OutOrStdout(), "export KUBECONFIG=%q\nexport KUBEBUILDER_ASSETS=%q\nexport PATH=%q:\"$PATH\"\n", l.Kubeconfig(), l.Bin, l.Bin)
		},
	}
}

func kubectl(l *lab.Lab) *cobra.Command {
	return &cobra.Command{
		Use: "kubectl", Short: "kubectl against this cluster", DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			environ := append(os.Environ(), "KUBECONFIG="+l.Kubeconfig())
			return syscall.Exec(filepath.Join(l.Bin, "kubectl"), append([]string{"kubectl"}, args...), environ)
		},
	}
}

func nodes(l *lab.Lab) *cobra.Command {
	return &cobra.Command{
		Use: "add-nodes COUNT", Short: "Add fake nodes like those that are there", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := strconv.Atoi(args[0])
			if err != nil || n < 1 {
				return fmt.Errorf("COUNT: must be a number above 0 (is %q)", args[0])
			}
			return l.AddFakeNodes(c.Context(), n)
		},
	}
}

func images(l *lab.Lab) *cobra.Command {
	return &cobra.Command{
		Use: "load-image ARCHIVE...", Short: "Load image archives on the real node", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			for _, archive := range args {
				if err := l.LoadImage(archive); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func nsrun(l *lab.Lab) *cobra.Command {
	return &cobra.Command{
		Use: "nsrun -- COMMAND...", Short: "Run a command in the real node's network", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return lab.Enter(l.Namespace(), "", args) },
	}
}
