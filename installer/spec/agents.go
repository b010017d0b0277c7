package spec

import (
	"time"

	"github.com/det-deploy/det-deploy/internal/document"
)

// Agents is what the machines of all pools have in common.
type Agents struct {
	StartupScript            string           `yaml:"startup_script" doc:"Runs on a machine before its agent starts; it is kept with the cluster's configuration, so write no secret into it"`
	ContainerStartupScript   string           `yaml:"container_startup_script" doc:"Runs in the agent's container before the agent starts"`
	ReconnectAttempts        int              `yaml:"reconnect_attempts" doc:"How often an agent tries to reconnect before it gives up"`
	ReconnectBackoff         document.Seconds `yaml:"reconnect_backoff" doc:"Pause between these attempts"`
	ShutDownOnConnectionLoss bool             `yaml:"shut_down_on_connection_loss" doc:"Power a machine off when its agent has given up its master"`
	DockerNetwork            string           `yaml:"docker_network" doc:"Docker network of tasks"`
	DockerRuntime            string           `yaml:"docker_runtime" doc:"Docker runtime of tasks"`
	Config                   document.Raw     `yaml:"config" doc:"Settings of agent.yaml, hooks among them"`
}

// defaultAgents is what machines have before the user says anything.
func defaultAgents() Agents {
	return Agents{
		ReconnectBackoff: document.Seconds(10 * time.Second),
		// Ten minutes: a master that is upgraded is back before its agents give up.
		ReconnectAttempts:        60,
		ShutDownOnConnectionLoss: true,
		DockerNetwork:            "default", DockerRuntime: "runc",
	}
}

func (a Agents) validate(path string) document.Errors {
	var e document.Errors
	at := func(key string) string { return document.Join(path, key) }
	e.Check(a.ReconnectAttempts > 0, at("reconnect_attempts"), "must be more than 0 (is %d)", a.ReconnectAttempts)
	e.Check(a.ReconnectBackoff > 0, at("reconnect_backoff"), "must be more than 0 (is %v)", a.ReconnectBackoff)
	return append(e, a.Config.Check(at("config"), checkObject)...)
}
