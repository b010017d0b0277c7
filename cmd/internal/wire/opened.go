// Package wire runs the roles that need the SDK of a platform: master, agent, node and pod. It also
// provides the parts of an opened cluster that all platforms share; platform-specific parts are in
// subpackages. Only commands may import them.
package wire

import (
	"context"
	"crypto/rand"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/local"
)

// Opened is an opened cluster on any platform.
type Opened struct {
	*installer.Installer

	// Record is the record of the cluster, and Known is true if there is one.
	Record record.Record
	Known  bool
	// Removed is true if the cluster was removed and its settings were kept. They are those of Record.
	Removed bool
}

// ReadRecord reads the record of the cluster, if there is one, or the settings that it had before it was
// removed.
func (o *Opened) ReadRecord(ctx context.Context, from record.Store) (err error) {
	o.Record, _, o.Known, err = record.Read(ctx, from)
	if err != nil || o.Known {
		return err
	}
	o.Record.Settings, err = record.Retained(ctx, from)
	delete(o.Record.Settings, hosted.KnownSetting) // the cloud is asked again
	o.Removed = len(o.Record.Settings) > 0
	return err
}

// ID returns the cluster ID.
func (o *Opened) ID() string { return o.Cluster }

// Recorded returns the cluster's record; found is false if there is none.
func (o *Opened) Recorded() (r record.Record, found bool) { return o.Record, o.Known }

// Endpoint is the address of a master, with the authority and the name of its certificate.
type Endpoint struct {
	URL  string
	CA   []byte
	Name string
}

// Account is an account with which a cluster was created.
type Account struct {
	URL, User string
	Password  secret.Value
}

// Install assembles the installer of the cluster. caller is the user's identity on the platform, or empty.
func (o *Opened) Install(s *term.Streams, caller string, in installer.Installer) error {
	var err error
	if in.Holder, err = local.Holder(s.Getenv, rand.Text(), caller); err != nil {
		return err
	}
	in.Dead = local.Dead
	o.Installer = &in
	return nil
}
