package master

import (
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/config"
)

// describeMachines shows clients what is configured of a pool's machines. Scripts may
// hold secrets and are shown to administrators only, with the master's configuration.
func describeMachines(p config.Provider, platform func(*apiv1.ResourcePool)) func(*apiv1.ResourcePool) {
	return func(out *apiv1.ResourcePool) {
		e := p.Elastic()
		out.MasterUrl, out.MasterCertName = e.MasterURL, e.MasterCertName
		out.AgentDockerNetwork, out.AgentDockerRuntime, out.AgentDockerImage = e.AgentDockerNetwork, e.AgentDockerRuntime, e.AgentDockerImage
		if platform != nil {
			platform(out)
		}
	}
}
