// Package clustertest starts a real master and real agents as processes that a test may kill. Only
// tests may import it.
package clustertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// builds are the temporary directories of built programs.
var builds directories

type directories struct {
	mu   sync.Mutex // guards list
	list []string
}

func (d *directories) add(dir string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, dir)
}

// Tests runs the tests of a package that builds programs, and removes the programs. TestMain uses
// it.
type Tests struct{ M interface{ Run() int } }

// Run runs the tests and returns the exit code.
func (t Tests) Run() int {
	code := t.M.Run()
	builds.mu.Lock()
	defer builds.mu.Unlock()
	for _, dir := range builds.list {
		_ = os.RemoveAll(dir) // a leftover temporary directory is harmless
	}
	return code
}

// Program returns the path of det-deploy, which it builds once for each test binary, unless run.sh
// has built it for all of them. It returns an error if the build fails.
var Program = sync.OnceValues(func() (string, error) {
	if built := os.Getenv(Built); built != "" {
		return built, nil
	}
	return Build("")
})

// Built is the environment variable with the path of the det-deploy that run.sh has built from the
// same sources, without a version.
const Built = "BUILT_DET_DEPLOY"

// Tags are the build tags of released binaries; the Makefile has the same.
const Tags = "grpcnotrace"

// Build builds det-deploy like a release, with the given version unless it is empty. It returns an
// error with the output of the compiler if the build fails.
func Build(version string) (string, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bin-")
	if err != nil {
		return "", err
	}
	builds.add(dir)
	path := filepath.Join(dir, "det-deploy")
	const module = "github.com/det-deploy/det-deploy"
	flags := "-s -w"
	if version != "" {
		flags += " -X " + module + "/cmd/internal/build.version=" + version
	}
	cmd := exec.Command("go", "build", "-tags", Tags, "-o", path, "-ldflags", flags, module+"/cmd/det-deploy") //nolint:noctx // no test of the binary owns it
	// Without cgo, like make: with cgo, which the race detector needs, Go would compile everything
	// again.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}
