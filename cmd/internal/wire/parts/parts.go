// Package parts creates the parts of a master that need the SDK of a platform: providers of machines and
// their attestors, Kubernetes, sources of secrets, and uploads.
package parts

import (
	"log/slog"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config"
)

// Of returns the parts of a master with a configuration.
func Of(cfg config.Master, log slog.Handler) master.Parts {
	return master.Parts{
		Config: cfg, Version: build.Read().Version, Log: log, Secrets: secretResolver(),
		Providers:  map[string]master.Provider{"aws": awsProvider{}, "gcp": newGCPProvider(), "local": localProvider{}},
		Kubernetes: newKubernetes,
		Uploads:    map[string]master.Upload{"s3": backupUpload(cfg.CheckpointStorage)},
		Buckets:    checkpointBuckets(),
	}
}
