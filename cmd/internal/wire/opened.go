package wire

import (
	"crypto/rand"
	"log/slog"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/local"
)

// HostedRequest says which cluster in a cloud is meant, and for what. Flags are read into
// it.
type HostedRequest struct {
	Cluster string
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

// Opened is a cluster of any platform with what works on it.
type Opened struct {
	*installer.Installer

	// Record is what is remembered of the cluster, and Known true when anything is.
	Record record.Record
	Known  bool
}

// ID is the cluster's ID.
func (o *Opened) ID() string { return o.Cluster }

// Recorded is the cluster's record; found is false when there is none.
func (o *Opened) Recorded() (r record.Record, found bool) { return o.Record, o.Known }

// Endpoint is where a master answers, with what signs its certificate and the name in it.
type Endpoint struct {
	URL  string
	CA   []byte
	Name string
}

// Account is one that a cluster was created with.
type Account struct {
	URL, User string
	Password  secret.Value
}

// Install puts together what installs the cluster. Caller is who the platform says the
// user is; it may be empty.
func (o *Opened) Install(s *term.Streams, caller string, in installer.Installer) error {
	var err error
	if in.Holder, err = local.Holder(s.Getenv, rand.Text(), caller); err != nil {
		return err
	}
	in.Dead = local.Dead
	o.Installer = &in
	return nil
}
