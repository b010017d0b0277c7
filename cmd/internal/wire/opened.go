// Package wire runs the roles, a master, an agent, a node and a pod, with what needs the
// SDK of a platform, and has what clusters of all platforms share once they are opened. A
// platform's own is in a package below. Only the commands may import them.
package wire

import (
	"context"
	"crypto/rand"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/local"
)

// Opened is a cluster of any platform with what works on it.
type Opened struct {
	*installer.Installer

	// Record is what is remembered of the cluster, and Known true when anything is.
	Record record.Record
	Known  bool
}

// ReadRecord reads what is remembered of the cluster, if anything is.
func (o *Opened) ReadRecord(ctx context.Context, from record.Store) (err error) {
	o.Record, _, o.Known, err = record.Read(ctx, from)
	return err
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
