// Package gcptest is Google in memory: a project whose services answer the real
// client libraries, over an http.RoundTripper or a socket. Every request and every
// answer is held against the discovery documents that google.golang.org/api ships.
// Only tests may import it.
package gcptest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// documentFiles are the discovery documents, relative to the module google.golang.org/api.
func documentFiles() map[string]string {
	return map[string]string{
		"compute":       "compute/v1/compute-api.json",
		"storage":       "storage/v1/storage-api.json",
		"iam":           "iam/v1/iam-api.json",
		"resources":     "cloudresourcemanager/v3/cloudresourcemanager-api.json",
		"secretmanager": "secretmanager/v1/secretmanager-api.json",
		"logging":       "logging/v2/logging-api.json",
		"monitoring":    "monitoring/v3/monitoring-api.json",
		"serviceusage":  "serviceusage/v1/serviceusage-api.json",
	}
}

// readDocument reads a discovery document out of the module cache.
func readDocument(module, service string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(module, documentFiles()[service]))
	if err != nil {
		return nil, fmt.Errorf("read the discovery document of %s: %w", service, err)
	}
	return b, nil
}

// findModule is the folder of google.golang.org/api in the module cache.
func findModule(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		return "", fmt.Errorf("find the module google.golang.org/api: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
