package wire

import (
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/record"
)

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
