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

// CloudRequest says which cluster in a cloud is meant, and for what. Flags are read into
// it.
type CloudRequest struct {
	Cluster string
	// Region is where in the cloud it is; empty where it is not known. A cluster that is
	// known by its id is looked for.
	Region string
	// Given is what the user says the cluster should be; nil when nothing is to be
	// said, and the cluster is taken as it is remembered.
	Given *spec.Given
	// Binaries are programs for other architectures, as arch=path. They are read
	// when Bring is true.
	Binaries []string
	Bring    bool
	// NoWait and NoVerify end waiting early.
	NoWait, NoVerify bool
	Sink             event.Sink
	Log              *slog.Logger
}

// Named is a setting that says where the cluster is, as the user gives it with the rest.
func (q CloudRequest) Named(path string) (string, error) {
	if q.Given == nil {
		return "", nil
	}
	named, _, err := q.Given.Lookup(path)
	return named, err
}

// AsRemembered asks for the cluster as it is remembered, and for nothing to be brought.
func (q CloudRequest) AsRemembered() CloudRequest {
	q.Given, q.Bring = nil, false
	return q
}

// Options is what the user wants of this run. References of that scheme are to the cloud's
// own store of secrets.
func (q CloudRequest) Options(settings map[string]string, scheme secret.Scheme, vault secret.Source) (hosted.Options, error) {
	programs, err := q.loadPrograms()
	return hosted.Options{
		Settings: settings, Version: build.Read().Version, Programs: programs,
		Secrets: secret.Resolver{Sources: map[secret.Scheme]secret.Source{scheme: vault}},
		NoWait:  q.NoWait, NoVerify: q.NoVerify, Log: q.Log, Refusals: Refusals,
	}, err
}

func (q CloudRequest) loadPrograms() (program.Set, error) {
	if !q.Bring {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return program.Load(q.Binaries, self)
}
