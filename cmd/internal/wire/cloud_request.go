package wire

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/program"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// CloudRequest selects a cluster in a cloud and describes the operation. Flags are read into it.
type CloudRequest struct {
	Cluster string
	// Region is the cluster's region, or empty if it is unknown. The region of an existing cluster is
	// looked up by its ID.
	Region string
	// Given holds the requested settings. If it is nil, the cluster is opened as it is recorded.
	Given *spec.Given
	// Binaries are programs for other architectures, in the form arch=path. They are read if Bring is
	// true.
	Binaries []string
	Bring    bool
	// NoWait and NoVerify end the wait for the master early.
	NoWait, NoVerify bool
	// RefreshImages selects the newest stock images instead of the recorded ones.
	RefreshImages bool
	Sink          event.Sink
	Log           *slog.Logger
}

// Named returns the given value of a setting that locates the cluster, or "".
func (q CloudRequest) Named(path string) (string, error) {
	if q.Given == nil {
		return "", nil
	}
	named, _, err := q.Given.Lookup(path)
	return named, err
}

// AsRemembered returns a request to open the cluster as it is recorded, without installing programs.
func (q CloudRequest) AsRemembered() CloudRequest {
	q.Given, q.Bring = nil, false
	return q
}

// Options returns the options of this run. References with the given scheme are resolved by the cloud's
// secret store.
func (q CloudRequest) Options(settings map[string]string, scheme secret.Scheme, vault secret.Source) (hosted.Options, error) {
	programs, err := q.loadPrograms()
	return hosted.Options{
		Settings: settings, Version: build.Read().Version, Programs: programs,
		Secrets: secret.Resolver{Sources: map[secret.Scheme]secret.Source{scheme: vault}},
		NoWait:  q.NoWait, NoVerify: q.NoVerify, RefreshImages: q.RefreshImages, Log: q.Log, Refusals: Refusals,
	}, err
}

func (q CloudRequest) loadPrograms() (program.Set, error) {
	if !q.Bring {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the file of this program: %w", err)
	}
	return program.Load(q.Binaries, self)
}
