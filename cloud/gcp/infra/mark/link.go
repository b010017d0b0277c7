package mark

import (
	"strings"

	"github.com/det-deploy/det-deploy/cloud/infra"
)

// NetworkLink names a network as the calls want it. That of another project, of a shared
// VPC, is "HOST-PROJECT/NAME".
func (c *Cluster) NetworkLink(network infra.Ref) string {
	project, name := c.projectOf(network)
	return "projects/" + project + "/global/networks/" + name
}

// SubnetworkLink names a subnetwork of the region as the calls want it. That of another
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
