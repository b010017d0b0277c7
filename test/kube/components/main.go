// Command components is one binary that holds every program of a small
// Kubernetes cluster: upstream's own, imported as Go packages and unchanged.
// Which one runs is chosen by the name it is called by, a link named
// kube-apiserver or kubelet, or by its first argument.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	os.Exit(run()) //nolint:forbidigo // only main exits, and this is main
}

// run becomes the component that the command line names.
func run() int {
	name := filepath.Base(os.Args[0])
	c, found := components()[name]
	if !found && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = append([]string{name}, os.Args[2:]...)
		c, found = components()[name]
	}
	if !found {
		return complain(fmt.Errorf("there is no component %q", name))
	}
	return c()
}

func complain(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "components:", err)
	return 1
}

// errUsage is a DNS server that nobody told what to serve.
var errUsage = errors.New("coredns needs the path of its Corefile")
