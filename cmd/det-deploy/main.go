// Command det-deploy installs, operates and is a deep-learning cluster.
package main

import (
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/cli"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
)

func main() {
	os.Exit(int(cli.Main(cmd.New))) //nolint:forbidigo // this is main
}
