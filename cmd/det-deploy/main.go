// Command det-deploy installs, operates and is a deep-learning cluster.
package main

import (
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/cli"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
	_ "github.com/det-deploy/det-deploy/cmd/internal/early" // runs a command that only talks to a master, before main
)

func main() {
	os.Exit(int(cli.Main(cmd.NewFor))) //nolint:forbidigo // this is main
}
