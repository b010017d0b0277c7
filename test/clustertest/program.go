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

// builds are the directories of programs that were built.
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

// Tests runs the tests of a package that builds programs, and removes these. It is for
// TestMain.
type Tests struct{ M interface{ Run() int } }

// Run runs them and says what to exit with.
func (t Tests) Run() int {
	code := t.M.Run()
	builds.mu.Lock()
	defer builds.mu.Unlock()
	for _, dir := range builds.list {
		_ = os.RemoveAll(dir) // what is left of a temporary directory hurts nobody
	}
	return code
}

// Program builds det-deploy once for all tests of a binary, unless run.sh has built it
// once for all binaries.
var Program = sync.OnceValues(func() (string, error) {
	if built := os.Getenv(Built); built != "" {
		return built, nil
	}
	return Build("")
})

// Built is the environment variable that names det-deploy as run.sh has built it, from
// the same sources; without a version of its own.
const Built = "BUILT_DET_DEPLOY"

// Tags are the build tags of the program as it is delivered; the Makefile has the same.
const Tags = "grpcnotrace"

// Build builds det-deploy as it is delivered, with a version of its own unless that
// is empty.
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
	// As make builds it: with cgo, which the race detector needs, Go would compile
	// everything once more.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
}
