// Package hosted implements clusters whose master runs on a machine in a cloud and follows a
// manifest in a control bucket. It is independent of the cloud: it writes the manifest, secrets and
// certificates, runs checks, and waits for, upgrades and stops the master. Clouds implement its
// small interfaces.
package hosted

import (
	"context"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
	"github.com/det-deploy/det-deploy/installer/hosted/probe"
	"github.com/det-deploy/det-deploy/installer/hosted/program"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/master/config"
)

// Options are the user's options for one run of the program.
type Options struct {
	// Settings are the recorded settings of the cluster, without resolved facts.
	Settings map[string]string
	// Version is the version of this program, and Programs are its files.
	Version  string
	Programs program.Set
	// Secrets reads secrets on this computer to which the settings refer.
	Secrets secret.Resolver
	// NoWait makes Ready return as soon as every resource exists; NoVerify, as soon as the master
	// answers.
	NoWait, NoVerify bool
	// RefreshImages selects the newest stock images instead of the recorded ones, also for an existing
	// master.
	RefreshImages bool
	// Refusals returns the problems for which a master would refuse to start with a valid
	// configuration.
	Refusals func(config.Master) document.Errors
	// Ask connects to the master; nil dials it.
	Ask func(probe.Endpoint) (probe.Master, error)
	// Open opens a program; nil opens the file.
	Open func(path string) (io.ReadSeekCloser, error)
	// Now and Pause default to the real clock.
	Now   func() time.Time
	Pause func(ctx context.Context, d time.Duration) error
	Log   *slog.Logger
}

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Refusals == nil {
		o.Refusals = func(m config.Master) document.Errors { return config.Unbuilt(m) }
	}
	if o.Pause == nil {
		o.Pause = wait.For
	}
	if o.Open == nil {
		o.Open = func(path string) (io.ReadSeekCloser, error) { return os.Open(path) }
	}
	if o.Ask == nil {
		o.Ask = probe.Dial
	}
}

// Words are the terms of a cloud.
type Words struct {
	// Noun is the prefix of resource IDs and the subcommand: "aws".
	Noun string
	// Scheme is the scheme of references to the cloud's secret store, and Vault the name of that
	// store.
	Scheme secret.Scheme
	Vault  string
	// MasterHost is the placeholder for the master's internal address in the agents' configuration.
	MasterHost string
	// Inbound is the flag that lists the addresses that may reach the master.
	Inbound string
}

// Objects is the control bucket. Writes ask the engine's gate, except those of record.Store, which
// implement the lease.
type Objects interface {
	record.Store
	// Has reports whether an object exists.
	Has(ctx context.Context, key string) (bool, error)
	// Upload creates or replaces one object.
	Upload(ctx context.Context, key string, body io.ReadSeeker) error
	// Erase deletes one object. It may be repeated.
	Erase(ctx context.Context, key string) error
}

// Address is the master's fixed public address.
type Address interface {
	resource.Resource
	// PublicIP returns the address, or "" before Find or Create.
	PublicIP() string
}

// Machines describes the cluster's machines.
type Machines interface {
	// Architectures returns the architectures for which programs are needed: "amd64", "arm64".
	Architectures() ([]string, error)
}

// Disk is the master's data disk.
type Disk interface {
	// Keep makes a copy of that name unless it exists, and returns its location.
	Keep(ctx context.Context, name string) (where string, err error)
}

// Marked is the set of objects with the cluster's mark, without the control bucket and its content.
type Marked interface {
	// Kinds returns the kinds in dependency order: those that others need come first.
	Kinds() []string
	// Inventory lists all objects of a cluster.
	Inventory(ctx context.Context, cluster string) ([]resource.Found, error)
	// Remove deletes one of them.
	Remove(ctx context.Context, f resource.Found) error
}

// Parts are the parts of a cluster that a cloud implements.
type Parts struct {
	Words    Words
	Objects  Objects
	Vault    Vault
	Machines Machines
	Disk     Disk
	// Address returns the master's address as a resource, before Find.
	Address func() Address
	// Logs is the log group or bucket of the machines. With Metrics, they also send utilization
	// metrics.
	Logs    string
	Metrics bool
	// Marked is the set of the cluster's objects in its cloud.
	Marked Marked
}

// Setup configures a cluster.
type Setup struct {
	Options
	Parts

	// Common is the requested configuration, and Agents the settings common to all agents.
	Common spec.Common
	Agents spec.Agents
	// Aux is the pool of tasks without slots.
	Aux spec.Pool
	// MakesDeterminedPassword reports whether the password of the user determined is generated.
	MakesDeterminedPassword func() bool
}

// Cluster is one hosted cluster.
type Cluster struct {
	*Setup
	*secrets
	masterFile

	// Manifests holds the manifest of the master's machine and its status.
	Manifests *manifests.Bucket
}

// secrets manages the cluster's secrets in the cloud's secret store.
type secrets struct {
	*Setup

	// given are the secrets that were read on this computer.
	given map[string]given
}

// New returns a cluster. It reads the secrets on this computer to which the settings refer, and
// makes no calls to the cloud.
func New(ctx context.Context, s Setup) *Cluster {
	s.setDefaults()
	kept := &secrets{Setup: &s}
	c := &Cluster{
		Setup: &s, secrets: kept, masterFile: masterFile{kept},
		Manifests: &manifests.Bucket{Objects: s.Objects, Noun: s.Words.Noun, Now: s.Now, Pause: s.Pause},
	}
	c.readGiven(ctx)
	return c
}

func (c *Cluster) resourceID(kind, name string) string { return c.Words.Noun + "/" + kind + "/" + name }
