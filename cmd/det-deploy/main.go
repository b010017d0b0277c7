// Command det-deploy installs and operates deep-learning clusters, and runs their masters and agents.
package main

import (
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/cli"
	"github.com/det-deploy/det-deploy/cmd/internal/cmd"
)

func main() {
	os.Exit(int(cli.Main(cmd.New))) //nolint:forbidigo // this is main
}
