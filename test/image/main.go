// Command image builds a container image archive from files, without a daemon, a registry or root.
// The build is reproducible. `docker load`, `ctr images import` and registry tools can read the
// archive.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(run()) //nolint:forbidigo // this is main
}

func run() int {
	if err := command().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		return 1
	}
	return 0
}

func command() *cobra.Command {
	var s Spec
	var out string
	c := &cobra.Command{
		Use:           "image --tag NAME:TAG --out FILE --file SRC:DST...",
		Short:         "Write a container image into a file",
		Example:       "  image --tag det-deploy:dev --out image.tar --file bin/det-deploy:/usr/bin/det-deploy --entrypoint /usr/bin/det-deploy",
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return Write(s, out) },
	}
	f := c.Flags()
	f.StringVar(&s.Tag, "tag", "", "name and tag; with another tag than latest no kubelet tries to pull it")
	f.StringVar(&out, "out", "", "archive to write")
	f.StringVar(&s.Architecture, "arch", runtime.GOARCH, "architecture of the programs in it")
	f.StringArrayVar(&s.Files, "file", nil, "SRC:DST, a file or directory to put in; may be repeated")
	f.StringArrayVar(&s.Layers, "tar", nil, "root file system as a tar, below the files; may be repeated")
	f.StringArrayVar(&s.Env, "env", nil, "NAME=VALUE; may be repeated")
	f.StringArrayVar(&s.Entrypoint, "entrypoint", nil, "one word of the entrypoint; may be repeated")
	f.StringArrayVar(&s.Cmd, "cmd", nil, "one word of the arguments; may be repeated")
	f.StringArrayVar(&s.Ports, "expose", nil, "PORT/tcp; may be repeated")
	f.StringArrayVar(&s.Labels, "label", nil, "NAME=VALUE; may be repeated")
	f.BoolVar(&s.Roots, "roots", false, "put in the certificates that public servers prove themselves with, as Mozilla trusts them")
	f.StringVar(&s.User, "user", "", "USER[:GROUP] that the entrypoint runs as")
	f.StringVar(&s.WorkDir, "workdir", "/", "directory that the entrypoint starts in")
	return c
}
