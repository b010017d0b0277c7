// Package fleet launches and terminates the Compute Engine instances of one resource pool:
// on-demand or Spot VMs, of several types in several zones, each by its own call with a name
// derived from the launch. The caller decides how many instances there should be.
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

// Label is a label.
type Label struct{ Key, Value string }

// Config is the configuration of one pool.
type Config struct {
	// Cluster and Pool identify the owner of the instances.
	Cluster, Pool string
	// Pair is the configured label of the cluster's instances: label_key and label_value. It is for
	// users and is never used to select the pool's instances.
	Pair Label
	// Labels are additional labels.
	Labels map[string]string
	// NamePrefix is the prefix of instance names. If it is empty, it is "det-CLUSTER-".
	NamePrefix string
	// MasterURL is the URL of the master for the instances.
	MasterURL string
	// Zones are the zones to launch in: "us-west1-b".
	Zones []string

	// Image is the image of the boot disk: a path, the name of an image in the project, or
	// "family/" and the name of an image family.
	Image string
	// BootDiskGB is the size of the boot disk and BootDiskType its type: "pd-standard". If the type
	// is empty, it is the cheapest one that the instance can boot from.
	BootDiskGB   int64
	BootDiskType string
	// Network and Subnetwork are names or paths. If both are empty, those of BaseConfig or the
	// project's default network are used.
	Network, Subnetwork string
	ExternalIP          bool
	// Tags are network tags, to which firewall rules apply.
	Tags []string
	// Account is the email of the instances' service account, or empty for none. Scopes are its
	// access scopes.
	Account string
	Scopes  []string
	// Spot reports whether the pool launches Spot VMs.
	Spot bool
	// StartupScript is the startup script, which runs at each boot.
	StartupScript string
	// BaseConfig is the user's base_config, Google's instance properties in JSON.
	BaseConfig []byte
	// OperationTimeout is the timeout for one launch. Zero means 5 minutes.
	OperationTimeout time.Duration

	// Log receives a message for each missing permission. It may be nil.
	Log *slog.Logger
}

// Fleet implements cloud.Instances for one pool.
type Fleet struct {
	clients api.Clients
	cfg     Config
	base    *compute.InstanceProperties

	mu     sync.Mutex                      // guards all fields below
	places map[cloud.InstanceID]*place     // of instances that were launched or listed
	ends   map[cloud.InstanceID]*endReason // why instances have stopped
	noEnds bool                            // the caller lacks the permission to read the reasons
}

var (
	_ cloud.Instances = (*Fleet)(nil)
	_ cloud.Console   = (*Fleet)(nil)
	_ cloud.Restorer  = (*Fleet)(nil)
)

// defaultTimeout is the default timeout for one launch.
const defaultTimeout = 5 * time.Minute

// New returns a fleet. It returns an Invalid error that lists all invalid fields, as far as they
// can be checked without API calls.
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
