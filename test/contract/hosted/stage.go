// Package hostedtest simulates a user of a cluster in any emulated cloud: each command is a new
// process, and the master's machine applies its manifest. Only tests may import it.
package hostedtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/probe"
	"github.com/det-deploy/det-deploy/installer/hosted/program"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
)

// Cluster is the ID of the cluster.
const Cluster = "lab"

// Target is a cluster on the platform of its cloud.
type Target interface {
	installer.Upgradable

	Look(ctx context.Context) error
	Remember() (map[string]string, error)
	Release() record.Release
}

// Platform is the cloud of a cluster.
type Platform struct {
	// Name is "aws", Flags are its settings, and New returns the value that they are decoded into.
	Name  string
	Flags spec.Table
	New   func() spec.Cluster
	// Store returns the control bucket.
	Store func() record.Store
	// Open opens the cluster and the store of its record as a new process does. Changes pass
	// through the gate. Recorded has the settings of the record; those of o are merged with the
	// user's.
	Open func(ctx context.Context, gate *resource.Gate, recorded map[string]string, o hosted.Options) (Target, record.Store, error)
	// Sleep waits.
	Sleep func(context.Context, time.Duration) error
	// Settle is the time that a plan waits for lists.
	Settle time.Duration
	// Lenient reports whether the machine retries after an error.
	Lenient func(error) bool
}

// Stage is a cluster that a user operates.
type Stage struct {
	Platform Platform
	// Settings are flags by name; File is a cluster.yaml, or empty.
	Settings map[string]string
	File     string
	// Programs are the hashes of the binaries, and Version is the version of this one.
	Programs program.Set
	Version  string
	// Dead reports whether the process of a lease's holder has ended.
	Dead func(record.Holder) bool
	// Ill is the error that the master's machine reports; a Silent one reports nothing.
	Ill    string
	Silent bool
	// Answers is the cluster of the master that answers at the address, or empty for the right one.
	Answers string
	// Tried counts the test tasks that were run on the cluster.
	Tried int

	machine *machine
}

// New returns a stage with binaries and some settings.
func New(p Platform, settings map[string]string, flags ...string) Stage {
	s := Stage{Platform: p, Settings: settings, Programs: Programs("one"), Version: "v1.0.0", machine: new(machine)}
	s.Set(flags...)
	return s
}

// Set sets flags, given as pairs of name and value.
func (s *Stage) Set(flags ...string) {
	for i := 0; i < len(flags); i += 2 {
		s.Settings[flags[i]] = flags[i+1]
	}
}

// Programs returns the binaries of a build for both architectures.
func Programs(build string) program.Set {
	return program.Set{
		"amd64": {Path: build + "/amd64", SHA256: strings.Repeat("a", 63) + fmt.Sprint(len(build)%10)},
		"arm64": {Path: build + "/arm64", SHA256: strings.Repeat("b", 63) + fmt.Sprint(len(build)%10)},
	}
}

// ProgramFile stands in for a det-deploy binary.
type ProgramFile struct{ *bytes.Reader }

// Close implements io.Closer.
func (ProgramFile) Close() error { return nil }

// open opens the cluster as a new process does.
func (s *Stage) open(ctx context.Context, gate *resource.Gate) (Target, record.Store, error) {
	r, _, _, err := record.Read(ctx, s.Platform.Store())
	if err != nil {
		return nil, nil, err
	}
	settings, err := s.Platform.Flags.Merge(s.Platform.New(), s.given(), r.Settings)
	if err != nil {
		return nil, nil, err
	}
	t, store, err := s.Platform.Open(ctx, gate, r.Settings, hosted.Options{
		Settings: settings, Version: s.Version, Programs: s.Programs, Secrets: secret.Resolver{LookupEnv: lookUpVariable},
		Ask:   func(probe.Endpoint) (probe.Master, error) { return master{s}, nil },
		Open:  func(path string) (io.ReadSeekCloser, error) { return ProgramFile{bytes.NewReader([]byte(path))}, nil },
		Pause: s.Pause,
	})
	if err != nil {
		return nil, nil, err
	}
	return t, store, t.Look(ctx)
}

func lookUpVariable(name string) (string, bool) {
	if name == "SHORT" {
		return "short", true // a password that the policy rejects
	}
	return "Secret-1 of " + name, true
}

func (s *Stage) given() spec.Given {
	var g spec.Given
	for _, f := range s.Platform.Flags {
		if v, ok := s.Settings[f.Flag]; ok {
			g.Flags = append(g.Flags, document.Given{Path: f.Path, Value: v, Source: "--" + f.Flag})
		}
	}
	if s.File != "" {
		g.File, g.FileName = []byte(s.File), "cluster.yaml"
	}
	return g
}
