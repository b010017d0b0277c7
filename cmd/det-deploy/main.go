// Command det-deploy installs, operates and is a deep-learning cluster.
package main

import (
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/cli"
)

func main() {
	os.Exit(int(cli.Main())) //nolint:forbidigo // this is main
}
