package hosted

import (
	"time"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/master/config"
)

// Common is what cluster.yaml says of a cluster in whichever cloud.
type Common struct {
	Cluster string

	TLS                                 spec.TLS
	Database                            spec.Database
	InitialPassword, DeterminedPassword secret.Value

	Metrics, EnableCORS bool
	Security            spec.Security
	Scheduler           config.Scheduler
	DefaultPool         string
	Tasks               spec.Tasks
	TaskPolicy          config.TaskPolicy
	Agents              Agents
	MasterYAML          document.Raw
	// TrialLimit is how long a machine for the task that tries the cluster may take
	// to join.
	TrialLimit time.Duration
}

// Agents is what the machines of all pools have in common.
type Agents struct {
	ContainerStartupScript       string
	DockerNetwork, DockerRuntime string
	ReconnectAttempts            int
	ReconnectBackoff             document.Seconds
	ShutDownOnConnectionLoss     bool
	Config                       document.Raw
}

// Pool is what a pool of machines is in whichever cloud.
type Pool struct {
	Description   string
	MaxAuxTasks   int
	TaskPolicy    *config.TaskPolicy
	StartupScript string

	IdlePeriod, StartingPeriod document.Duration
	MinAgents, MaxAgents       int
	LaunchErrorTimeout         *document.Duration
	LaunchErrorRetries         int
}
