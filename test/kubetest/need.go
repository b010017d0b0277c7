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

// need skips the test, or fails it under CI=true, where something is missing.
func need(t testing.TB, o Options) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a Kubernetes cluster; run without -short")
	}
	if why := missing(t.Context(), o); why != "" {
		lacks(t, why)
	}
}

// lacks ends the test: something is not on this machine.
func lacks(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// missing is a sentence on what the cluster needs and this machine lacks.
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

// unbuilt is why there are no programs, looked up once: their name is a sum of all their
// sources.
var unbuilt = sync.OnceValue(func() string { //nolint:gochecknoglobals // one answer for the process
	script, err := script()
	if err != nil {
		return err.Error()
	}
	if err := exec.Command(script, "built").Run(); err != nil {
		return "Kubernetes is not built here; run: make kube (minutes, once)"
	}
	return ""
})

// script is test/kube/kube.sh of this tree, wherever in it a test runs.
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
