package kubetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// need skips the test, or fails it if CI=true, unless everything for the options is installed.
func need(t testing.TB, o Options) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a Kubernetes cluster; run without -short")
	}
	if why := missing(t.Context(), o); why != "" {
		lacks(t, why)
	}
}

// lacks skips the test, or fails it if CI=true, because this machine lacks something.
func lacks(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// missing returns a message about a missing requirement of the cluster, or an empty string.
func missing(ctx context.Context, o Options) string {
	if why := unbuilt(); why != "" || o.Mode != Node {
		return why
	}
	script, err := script()
	if err != nil {
		return err.Error()
	}
	if os.Geteuid() != 0 {
		return "a real Kubernetes node needs root"
	}
	packages, err := exec.CommandContext(ctx, script, "missing").Output()
	if err != nil {
		return fmt.Sprintf("%s missing: %v", script, err)
	}
	if p := strings.TrimSpace(string(packages)); p != "" {
		return "a real Kubernetes node needs packages; run: apt-get install -y " + p
	}
	return ""
}

// unbuilt returns the reason why the programs are missing. It is computed once, because their path
// contains a checksum of all their sources.
var unbuilt = sync.OnceValue(func() string { //nolint:gochecknoglobals // checked once per process
	script, err := script()
	if err != nil {
		return err.Error()
	}
	if err := exec.Command(script, "built").Run(); err != nil {
		return "Kubernetes is not built here; run: make kube (minutes, once)"
	}
	return ""
})

// script returns the path of test/kube/kube.sh in this source tree, from any directory in it.
func script() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, "test", "kube", "kube.sh")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("test/kube/kube.sh is not above this directory; run the tests in the project's tree")
		}
		dir = up
	}
}
