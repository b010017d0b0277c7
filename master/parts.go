package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/secret"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/certificate"
	"github.com/det-deploy/det-deploy/master/checkpoint"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
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

// ringSize is how many lines of its own log a master shows; at some 200 bytes a
// line, 2 MB.
const ringSize = 10_000

// deps are what the parts of a master depend on.
type deps struct {
	parts       Parts
	ring        *server.Ring
	log         *slog.Logger
	certificate certificate.Source
	binaries    *server.Binaries
	identity    server.Identity

	// Set once the store is open.
	store *store.Store
	lease *store.Lease
	env   Env
}

// openDeps opens everything but the store.
func openDeps(ctx context.Context, p Parts) (*deps, error) {
	d := &deps{parts: p, ring: server.NewRing(ringSize, p.Log)}
	d.log = slog.New(d.ring)
	var err error
	if d.certificate, err = certificate.Open(ctx, p.Config, p.Secrets); err != nil {
		return nil, err
	}
	if d.binaries, err = openBinaries(p.Config.Binaries); err != nil {
		return nil, err
	}
	// The cluster's ID is in the store; a master on hold does not show it.
	d.identity = server.Identity{
		ClusterName: p.Config.ClusterName, MasterID: uuid.NewString(),
		Version: p.Version, Program: d.binaries.Own,
	}
	return d, nil
}

// openBinaries opens the programs that a master hands out, its own among them.
func openBinaries(dir string) (*server.Binaries, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, err
	}
	return server.OpenBinaries(dir, self)
}

// ownProgram is where the program of this process is. On Linux that is a path that
// still leads to it when another file has taken its place.
func ownProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return self, nil
}

// useStore makes s the master's store.
func (d *deps) useStore(s *store.Store, l *store.Lease) {
	d.store, d.lease = s, l
	d.identity.ClusterID = s.Meta().ClusterID
	d.env = Env{
		Config: d.parts.Config, ClusterID: d.identity.ClusterID, MasterID: d.identity.MasterID, Version: d.parts.Version,
		Log: d.log, Certificate: d.certificate, Programs: d.binaries.Hashes,
	}
}

// closeAll closes what is open.
func (d *deps) closeAll() error {
	var err error
	if d.store != nil {
		err = d.store.Close()
	}
	return errors.Join(err, d.binaries.Close())
}
