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

// Parts are the inputs of a master: its settings, and everything that needs a platform's SDK.
type Parts struct {
	Config config.Master
	// Version is the version of this program.
	Version string
	// Log handles the master's own log.
	Log slog.Handler
	// Secrets resolves the secrets to which the settings refer.
	Secrets secret.Resolver
	// Providers launch machines, by the type of a pool's provider, such as "aws".
	Providers map[string]Provider
	// Kubernetes creates the resource manager that runs tasks as pods. It is nil if the program
	// supports only agents.
	Kubernetes func(Env, KubernetesDeps) (Kubernetes, error)
	// Uploads write a backup to object storage, by URL scheme, such as "s3".
	Uploads map[string]Upload
	// Buckets read checkpoints in object storage, by type of storage, such as "s3".
	Buckets checkpoint.Buckets
}

// Upload writes the content of from to url. If it fails, it leaves no object.
type Upload func(ctx context.Context, url string, from io.Reader) error

// Env describes the master to providers and Kubernetes.
type Env struct {
	Config    config.Master
	ClusterID string
	MasterID  string
	Version   string
	Log       *slog.Logger
	// Certificate is the master's certificate, or nil without TLS.
	Certificate certificate.Source
	// Programs waits for the SHA-256 of the programs that the master serves, and returns them by
	// platform.
	Programs func() map[string]string
}

// Provider launches machines on one platform.
type Provider interface {
	// Attestor returns an attestor of the machines of pools and the kinds of proofs that it
	// accepts. Pools are all pools with this provider.
	Attestor(env Env, pools []config.Pool) (kinds []string, a cloud.Attestor, err error)
	// Machines returns the machines of one pool.
	Machines(ctx context.Context, env Env, pool config.Pool) (Machines, error)
}

// OrphanEnder is a Provider whose machines would outlive the removal of their pool from the
// configuration.
type OrphanEnder interface {
	// EndOrphans terminates the machines of pools that no longer have this provider, and calls
	// ended for each.
	EndOrphans(ctx context.Context, env Env, ended func(pool string, id cloud.InstanceID) error) error
}

// Machines is one platform's implementation of a pool's machines.
type Machines struct {
	Instances cloud.Instances
	Offers    []cloud.Offer
	// Slots is the number of devices per machine.
	Slots int
	// LaunchWait is the time limit of one launch; zero means the default.
	LaunchWait time.Duration
	// Describe adds the platform's settings to the API message of the pool; it may be nil.
	Describe func(*apiv1.ResourcePool)
}

// ResourceManager runs tasks on agents or on Kubernetes.
type ResourceManager interface {
	rm.ResourceManager
	rm.Machines
	rm.Streams
	// Restore reads the state that an earlier master stored. Run works until ctx ends.
	Restore(ctx context.Context) error
	Run(ctx context.Context) error
	// Ready returns an error if tasks cannot be placed. It may wait until ctx ends.
	Ready(ctx context.Context) error
}

// Kubernetes runs tasks as pods.
type Kubernetes interface {
	ResourceManager
	Metrics() prometheus.Collector
}

// KubernetesDeps are the parts of the master that the resource manager for pods uses.
type KubernetesDeps struct {
	Tasks  rm.Tasks
	Logs   rm.Logs
	Memory Memory
	// LastLine returns the time of a container's last stored log line, or zero.
	LastLine func(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error)
	// Policy returns the task policy of a pool for clients.
	Policy func(config.Pool) *apiv1.TaskPolicy
	// Metadata is passed to clients unchanged.
	Metadata map[string]string
}

// ringSize is the number of lines of the master's log that it serves: 2 MB at some 200 bytes per
// line.
const ringSize = 10_000

// deps are the dependencies of a master's parts.
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
	// The cluster ID is in the store; a master on hold does not report it.
	d.identity = server.Identity{
		ClusterName: p.Config.ClusterName, MasterID: uuid.NewString(),
		Version: p.Version, Program: d.binaries.Own,
	}
	return d, nil
}

// openBinaries opens the programs that a master serves, including its own.
func openBinaries(dir string) (*server.Binaries, error) {
	self, err := ownProgram()
	if err != nil {
		return nil, err
	}
	return server.OpenBinaries(dir, self)
}

// ownProgram returns the path of this process's program. On Linux, the path stays valid when the
// file is replaced.
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

// useStore sets the master's store.
func (d *deps) useStore(s *store.Store, l *store.Lease) {
	d.store, d.lease = s, l
	d.identity.ClusterID = s.Meta().ClusterID
	d.env = Env{
		Config: d.parts.Config, ClusterID: d.identity.ClusterID, MasterID: d.identity.MasterID, Version: d.parts.Version,
		Log: d.log, Certificate: d.certificate, Programs: d.binaries.Hashes,
	}
}

// closeAll closes everything that is open.
func (d *deps) closeAll() error {
	var err error
	if d.store != nil {
		err = d.store.Close()
	}
	return errors.Join(err, d.binaries.Close())
}
