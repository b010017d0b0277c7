// Package hostedtest is a user who works on a cluster in an emulated cloud, whichever that
// is: each command is a new process, and the master's machine does what its manifest says.
// Only tests may import it.
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

// Cluster is the ID of the cluster that is worked on.
const Cluster = "lab"

// Target is a cluster as its own cloud has it.
type Target interface {
	installer.Upgradable

	Look(ctx context.Context) error
	Remember() (map[string]string, error)
	Release() record.Release
}

// Platform is the cloud that a cluster is in.
type Platform struct {
	// Name is "aws", Flags are its settings, and New makes what they are read into.
	Name  string
	Flags spec.Table
	New   func() spec.Cluster
	// Store is the control bucket.
	Store func() record.Store
	// Open opens the cluster as a new process sees it, whose changes ask a gate, with the
	// store of its record. Recorded is what the record has, and the settings of o are those
	// with what the user says.
	Open func(ctx context.Context, gate *resource.Gate, recorded map[string]string, o hosted.Options) (Target, record.Store, error)
	// Sleep waits.
	Sleep func(context.Context, time.Duration) error
	// Settle is how long a plan waits for lists.
	Settle time.Duration
	// Lenient has a machine whose calls fail try again.
	Lenient func(error) bool
}

// Stage is a cluster that a user works on.
type Stage struct {
	Platform Platform
	// Settings are flags, by their names; File is a cluster.yaml, or empty.
	Settings map[string]string
	File     string
	// Programs are the hashes of det-deploy, and Version is that of this one.
	Programs program.Set
	Version  string
	// Dead says which holders of the lease have ended.
	Dead func(record.Holder) bool
	// Ill is what the master's machine says that is wrong; a Silent one says nothing.
	Ill    string
	Silent bool
	// Tried is how often a task was run to try the cluster.
	Tried int

	machine *machine
}

// New is a stage with programs and some settings.
func New(p Platform, settings map[string]string, flags ...string) Stage {
	s := Stage{Platform: p, Settings: settings, Programs: Programs("one"), Version: "v1.0.0", machine: new(machine)}
	s.Set(flags...)
	return s
}

// Set gives flags: their names, each before its value.
func (s *Stage) Set(flags ...string) {
	for i := 0; i < len(flags); i += 2 {
		s.Settings[flags[i]] = flags[i+1]
	}
}

// Programs are det-deploy for both architectures, of some build.
func Programs(build string) program.Set {
	return program.Set{
		"amd64": {Path: build + "/amd64", SHA256: strings.Repeat("a", 63) + fmt.Sprint(len(build)%10)},
		"arm64": {Path: build + "/arm64", SHA256: strings.Repeat("b", 63) + fmt.Sprint(len(build)%10)},
	}
}

// ProgramFile is what stands in for det-deploy's file.
type ProgramFile struct{ *bytes.Reader }

// Close implements io.Closer.
func (ProgramFile) Close() error { return nil }

// open opens the cluster as a new process sees it.
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
		return "short", true // a password that the rule forbids
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
