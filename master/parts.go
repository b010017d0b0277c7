package master

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Parts is what a master is built from: its settings, and everything that needs a
// platform's SDK.
type Parts struct {
	Config config.Master
	// Version is the version of this program.
	Version string
	// Log writes the master's own log.
	Log slog.Handler
	// Secrets reads the secrets that the settings refer to.
	Secrets secret.Resolver
	// Providers launch machines, by the type of a pool's provider: "aws".
	Providers map[string]Provider
	// Kubernetes makes the resource manager that runs tasks as pods. It is nil in
	// masters that run them on agents only.
	Kubernetes func(Env, KubernetesDeps) (Kubernetes, error)
	// Uploads write a backup into object storage, by the scheme of its URL: "s3".
	Uploads map[string]Upload
	// Buckets read checkpoints in object storage, by the type of the storage: "s3".
	Buckets checkpoint.Buckets
}

// Upload writes all that it reads from from to url, or leaves no object.
type Upload func(ctx context.Context, url string, from io.Reader) error

// Env is what providers and Kubernetes know of the master that they work for.
type Env struct {
	Config    config.Master
	ClusterID string
	MasterID  string
	Version   string
	Log       *slog.Logger
	// Certificate is what the master shows, nil without TLS.
	Certificate certificate.Source
	// Programs waits for the SHA-256 of the programs that the master hands out, by platform.
	Programs func() map[string]string
}

// Provider launches machines on one platform.
type Provider interface {
	// Attestor checks what machines of the pools show to prove who they are, and names
	// the kinds of those proofs. Pools are all that have this provider.
	Attestor(env Env, pools []config.Pool) (kinds []string, a cloud.Attestor, err error)
	// Machines launches the machines of one pool.
	Machines(ctx context.Context, env Env, pool config.Pool) (Machines, error)
}

// OrphanEnder is a Provider whose machines no launcher ends when the pool they were
// launched for is removed from the configuration.
type OrphanEnder interface {
	// EndOrphans ends the machines of pools that no longer have this provider, and
	// calls ended for each.
	EndOrphans(ctx context.Context, env Env, ended func(pool string, id cloud.InstanceID) error) error
}

// Machines is how one platform gives a pool its machines.
type Machines struct {
	Instances cloud.Instances
	Offers    []cloud.Offer
	// Slots is how many devices one machine has.
	Slots int
	// LaunchWait is how long the platform may take for one launch; zero is the usual time.
	LaunchWait time.Duration
	// Describe adds to what clients are shown of the pool; it may be nil.
	Describe func(*apiv1.ResourcePool)
}

// ResourceManager runs tasks: on agents, or on Kubernetes.
type ResourceManager interface {
	rm.ResourceManager
	rm.Machines
	// Restore reads what an earlier master has stored, and Run works until ctx ends.
	Restore(ctx context.Context) error
	Run(ctx context.Context) error
	// Ready is why tasks are not placed; it may wait until ctx ends to find out.
	Ready(ctx context.Context) error
}

// Kubernetes runs tasks as pods.
type Kubernetes interface {
	ResourceManager
	Metrics() prometheus.Collector
}

// KubernetesDeps are the parts of the master that a resource manager for pods uses.
type KubernetesDeps struct {
	Tasks  rm.Tasks
	Logs   rm.Logs
	Memory Memory
	// LastLine is the time of a container's last stored line, zero when it has none.
	LastLine func(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error)
	// Policy is what tasks of a pool may do, as clients are shown it.
	Policy func(config.Pool) *apiv1.TaskPolicy
	// Metadata is shown to clients as it is.
	Metadata map[string]string
}
