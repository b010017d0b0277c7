package mark

import (
	"strings"

	"github.com/det-deploy/det-deploy/cloud/infra"
)

// NetworkLink returns the URL of a network. The identity of one in a Shared VPC is
// "HOST-PROJECT/NAME".
func (c *Cluster) NetworkLink(network infra.Ref) string {
	project, name := c.projectOf(network)
	return "projects/" + project + "/global/networks/" + name
}

// SubnetworkLink returns the URL of a subnetwork of the region. The identity of one in another
// project is "HOST-PROJECT/NAME".
func (c *Cluster) SubnetworkLink(subnetwork infra.Ref) string {
	project, name := c.projectOf(subnetwork)
	return "projects/" + project + "/regions/" + c.Clients.Region + "/subnetworks/" + name
}

func (c *Cluster) projectOf(r infra.Ref) (project, name string) {
	project, name, shared := strings.Cut(r.Identity(), "/")
	if !shared {
		return c.Clients.Project, r.Identity()
	}
	return project, name
}
