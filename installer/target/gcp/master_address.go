package gcp

import (
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/hosted"
)

// masterAddress is the public address, which stays when the master's machine is replaced.
type masterAddress struct {
	*infra.Object[*compute.Address]

	address *network.Address
}

var _ hosted.Address = masterAddress{}

func newMasterAddress(c *mark.Cluster) masterAddress {
	a := &network.Address{In: c, Name: "master"}
	return masterAddress{infra.Named(a), a}
}

// PublicIP implements hosted.Address.
func (a masterAddress) PublicIP() string { return a.address.PublicIP() }
