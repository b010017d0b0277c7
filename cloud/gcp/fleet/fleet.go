// Package fleet launches and removes the Compute Engine machines of one resource pool:
// on-demand or spot, of several types in several zones, each by a call of its own under a
// name that is the launch's. It carries out and never decides; how many there should be
// is its caller's.
package fleet

import (
	"log/slog"
	"sync"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
)

// Label is a key and its value.
type Label struct{ Key, Value string }

// Config is one pool.
type Config struct {
	// Cluster and Pool are whose the machines are.
	Cluster, Pool string
	// Pair is the label that marks a cluster's machines for people: label_key and
	// label_value. Which machines are the pool's is never decided by it.
	Pair Label
	// Labels are further ones.
	Labels map[string]string
	// NamePrefix begins the machines' names; empty is "det-", the cluster and "-".
	NamePrefix string
	// MasterURL is the address that machines are given.
	MasterURL string
	// Zones is where machines may be: "us-west1-b".
	Zones []string

	// Image is the image of the boot disk: a path, the name of one of the project's
	// images, or "family/" and the name of a family.
	Image string
	// BootDiskGB is the size of the boot disk, BootDiskType its type: "pd-standard";
	// empty is the cheapest that the machine boots from.
	BootDiskGB   int64
	BootDiskType string
	// Network and Subnetwork are names or paths; both are empty for those of BaseConfig,
	// or the project's default network.
	Network, Subnetwork string
	ExternalIP          bool
	// Tags are network tags, by which firewall rules apply.
	Tags []string
	// Account is the e-mail address of the service account of machines, or empty for
	// machines without, and Scopes what its tokens are good for.
	Account string
	Scopes  []string
	// Spot says that the pool launches spot machines.
	Spot bool
	// StartupScript is what machines run at each boot.
	StartupScript string
	// BaseConfig is what a person says of machines in Google's own form, as JSON.
	BaseConfig []byte
	// OperationTimeout is how long Google may take for one launch; zero is 5 minutes.
	OperationTimeout time.Duration

	// Log receives what the fleet does without. It may be nil.
	Log *slog.Logger
}

// Fleet is the machines of one pool.
type Fleet struct {
	clients api.Clients
	cfg     Config
	base    *compute.InstanceProperties

	mu     sync.Mutex                      // guards all below
	places map[cloud.InstanceID]*place     // of machines that were launched or listed
	ends   map[cloud.InstanceID]*endReason // why machines have stopped
	noEnds bool                            // the caller may not read why
}

var (
	_ cloud.Instances = (*Fleet)(nil)
	_ cloud.Console   = (*Fleet)(nil)
	_ cloud.Restorer  = (*Fleet)(nil)
)

// defaultTimeout is how long Google may take for one launch.
const defaultTimeout = 5 * time.Minute

// New checks what can be checked without Google; every complaint is in the error, whose
// kind is Invalid.
func New(c api.Clients, cfg Config) (*Fleet, error) {
	base, err := properties.Parse(cfg.BaseConfig)
	if err == nil {
		err = cfg.checkFields(base)
	}
	if err != nil {
		return nil, &cloud.Error{Kind: cloud.Invalid, Op: "configure pool " + cfg.Pool, Err: err}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.OperationTimeout == 0 {
		cfg.OperationTimeout = defaultTimeout
	}
	return &Fleet{
		clients: c, cfg: cfg, base: base,
		places: make(map[cloud.InstanceID]*place), ends: make(map[cloud.InstanceID]*endReason),
	}, nil
}
