// Package clustertest gives a test a real master and real agents, as processes that
// it may kill. Only tests may import it.
package clustertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Program builds det-deploy once for all tests of a binary.
var Program = sync.OnceValues(func() (string, error) { return Build() })

// Build builds det-deploy with further flags of go build.
func Build(flags ...string) (string, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bin-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "det-deploy")
	args := append([]string{"build", "-o", path}, flags...)
	args = append(args, "github.com/det-deploy/det-deploy/cmd/det-deploy")
	cmd := exec.Command("go", args...) //nolint:noctx // no test of the binary owns it
	// As make builds it: with cgo, which the race detector needs, Go would compile
	// everything once more.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}
