// Command components contains every program of a small Kubernetes cluster in one binary: the
// upstream programs, imported as unchanged Go packages. The name under which it is called, a link
// such as kube-apiserver or kubelet, or its first argument selects the program.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	os.Exit(run()) //nolint:forbidigo // this is main
}

// run executes the component of the command line and returns its exit code.
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

// errUsage is returned by a DNS server without configuration.
var errUsage = errors.New("coredns needs the path of its Corefile")
