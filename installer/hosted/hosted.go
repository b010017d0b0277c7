// Package hosted is a cluster whose master's machine follows a manifest in a
// control bucket, whatever cloud it is in: what the machine is to run, with which
// secrets and certificates, how it is waited for, upgraded and stopped, and what
// has to hold before. It asks its cloud through small interfaces.
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

// Options is what a person wants of this run of the program.
type Options struct {
	// Settings is what is remembered of the cluster, without what is known.
	Settings map[string]string
	// Version is that of this program, and Programs are its files.
	Version  string
	Programs program.Set
	// Secrets reads the secrets of this machine that the settings refer to.
	Secrets secret.Resolver
	// NoWait leaves Ready as soon as every resource exists; NoVerify as soon as the
	// master answers.
	NoWait, NoVerify bool
	// Refusals lists what a master refuses of a valid configuration when it starts.
	Refusals func(config.Master) document.Errors
	// Ask talks to the master; nil dials it.
	Ask func(probe.Endpoint) (probe.Master, error)
	// Open opens a program; nil opens the file.
	Open func(path string) (io.ReadSeekCloser, error)
	// Now is the time and Pause waits; nil is the clock's.
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

// Words is how a cloud is spoken of.
type Words struct {
	// Noun begins the IDs of resources, and is the command: "aws".
	Noun string
	// Scheme is that of references to the cloud's own store of secrets, which is
	// called Vault.
	Scheme secret.Scheme
	Vault  string
	// MasterHost is how agents' configuration names the master's address inside of
	// the network.
	MasterHost string
	// Inbound names the flag that lists who may reach the master.
	Inbound string
}

// Objects is the control bucket. Writes go through the engine's gate, but for
// those of record.Store, which the lease is made of.
type Objects interface {
	record.Store
	// Has reports whether an object exists.
	Has(ctx context.Context, key string) (bool, error)
	// Upload writes one object, whatever was there before.
	Upload(ctx context.Context, key string, body io.ReadSeeker) error
	// Erase removes one object. It may be repeated.
	Erase(ctx context.Context, key string) error
}

// Address is the master's fixed address.
type Address interface {
	resource.Resource
	// PublicIP is empty until Find or Create has learned it.
	PublicIP() string
}

// Machines is what is known of the cluster's machines.
type Machines interface {
	// Architectures lists those for which programs are needed: "amd64", "arm64".
	Architectures() ([]string, error)
}

// Disk is the disk with the master's data.
type Disk interface {
	// Keep makes a copy under a name, once, and says where.
	Keep(ctx context.Context, name string) (where string, err error)
}

// Marked is what carries the cluster's mark, but for the control bucket with what is in it.
type Marked interface {
	// Kinds has what others need first.
	Kinds() []string
	// Inventory lists all objects of a cluster.
	Inventory(ctx context.Context, cluster string) ([]resource.Found, error)
	// Remove deletes one of them.
	Remove(ctx context.Context, f resource.Found) error
}

// Parts is what a cluster asks of its cloud.
type Parts struct {
	Words    Words
	Objects  Objects
	Vault    Vault
	Machines Machines
	Disk     Disk
	// Address returns the master's address, not yet looked for.
	Address func() Address
	// Logs is where machines log to. With Metrics they send their load there, too.
	Logs    string
	Metrics bool
	// Marked is what the cluster consists of in its cloud.
	Marked Marked
}

// Setup is what a cluster is made of.
type Setup struct {
	Options
	Parts

	// Common is what the cluster should be, and Agents what its machines have in common.
	Common spec.Common
	Agents spec.Agents
	// Aux is the pool of tasks without slots.
	Aux spec.Pool
	// MakesDeterminedPassword says that the user determined has a generated password.
	MakesDeterminedPassword func() bool
}

// Cluster is one hosted cluster.
type Cluster struct {
	*Setup
	*secrets
	masterFile

	// Manifests is the manifest of the master's machine, and its status.
	Manifests *manifests.Bucket
}

// secrets is what the cluster keeps in its cloud's store.
type secrets struct {
	*Setup

	// given are those of this machine.
	given map[string]given
}

// New returns a cluster, having read the secrets of this machine that it refers
// to. It asks the cloud nothing.
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
