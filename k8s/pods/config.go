package pods

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/claim"
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// Labels that identify objects.
const (
	// ClusterLabel is set on every object of a cluster; its value is the cluster's name.
	ClusterLabel = podspec.LabelCluster
	// AllocationLabel is set on every Job, pod and Secret of an allocation.
	AllocationLabel = podspec.LabelTask
)

// Config configures a resource manager for pods.
type Config struct {
	Log    *slog.Logger
	Client kubernetes.Interface
	// REST is the configuration of Client, by which streams into pods are opened; nil if they are not.
	REST *rest.Config
	// Cluster is the value of ClusterLabel on objects of this cluster. Namespace is the namespace
	// of pods, as in the templates of all resource pools.
	Cluster, Namespace string
	// Former are namespaces in which earlier versions created pods. Pods running there are followed
	// until they end.
	Former []string

	// Tasks and Logs receive events and log lines.
	Tasks  rm.Tasks
	Logs   rm.Logs
	Memory records.Memory
	// LastLine returns the time of a container's last stored line, or zero if there is none. It may
	// be nil; it is called if a node has rotated a log while no master was running.
	LastLine func(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error)

	// Logins returns the registry credentials to copy for each task. It is called for each task,
	// because they change; it may be nil.
	Logins func() (podspec.Logins, error)

	// Claim maintains the volume claim for checkpoints; nil if the master does not create one.
	Claim *claim.Keeper

	Pools []Pool
	// DefaultAux and DefaultCompute are the default resource pools of requests.
	DefaultAux     string
	DefaultCompute string
	// ClusterName is displayed by clients.
	ClusterName string
	// Metadata is displayed by clients unchanged.
	Metadata map[string]string

	// Gang contains the options for decisions; zero means defaults.
	Gang gang.Options
	// Leave keeps the objects of ended allocations, for debugging.
	Leave bool

	// Limits are timeouts; zero means defaults.
	Limits Limits
}

// Pool is one queue. Resource pools share nodes unless their pod specs select different ones.
type Pool struct {
	Name        string
	Description string
	// Autoscaled is true if nodes are added for unschedulable pods.
	Autoscaled bool
	// Template contains the settings that all of its tasks share.
	Template podspec.Template
	// Policy is the task policy and Price the price of slots, for display.
	Policy *apiv1.TaskPolicy
	Price  *apiv1.SlotPrice
}

// Limits are timeouts.
type Limits struct {
	// Start is how long a temporary error, such as an unavailable registry, may keep a container
	// from starting.
	Start time.Duration
	// Volume applies instead of Start to errors of volumes or the network.
	Volume time.Duration
	// Lost is how long a pod may exist after its deletion deadline before its node counts as lost.
	Lost time.Duration
	// Lines is how long a node may take to answer a request for the rest of an ended container's
	// log.
	Lines time.Duration
	// Sight is the interval of checks whether the account's permissions have changed.
	Sight time.Duration
}

// DefaultLimits returns limits for clusters with fast registries.
func DefaultLimits() Limits {
	return Limits{
		Start: 5 * time.Minute,
		// Kubernetes detaches a volume from a lost node after six minutes.
		Volume: 15 * time.Minute,
		Lost:   30 * time.Second,
		Lines:  30 * time.Second,
		Sight:  time.Minute,
	}
}

// startOf returns how long a container may be kept from starting.
func (l Limits) startOf(s observe.Container) time.Duration {
	if s.Slow {
		return l.Volume
	}
	return l.Start
}

func (c Config) withDefaults() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Limits == (Limits{}) {
		c.Limits = DefaultLimits()
	}
	if c.Gang == (gang.Options{}) {
		c.Gang = gang.DefaultOptions()
	}
	return c
}

func (c Config) validateConfig() error {
	if c.Client == nil || c.Tasks == nil || c.Logs == nil || c.Memory == nil {
		return errors.New("configure pods: client, tasks, logs and memory are all needed")
	}
	if c.Cluster == "" || c.Namespace == "" {
		return errors.New("configure pods: a cluster name and a namespace are needed")
	}
	var errs []error
	for i, p := range c.Pools {
		if p.Name == "" {
			errs = append(errs, fmt.Errorf("resource_pools[%d].pool_name: must not be empty", i))
		}
		if at := slices.IndexFunc(c.Pools, func(o Pool) bool { return o.Name == p.Name }); at < i {
			errs = append(errs, fmt.Errorf("resource_pools[%d].pool_name: must be unique (%q)", i, p.Name))
		}
	}
	for _, name := range []string{c.DefaultAux, c.DefaultCompute} {
		if _, found := c.findPool(name); !found {
			errs = append(errs, fmt.Errorf("configure pods: there is no default resource pool %q; there are %q", name, c.poolNames()))
		}
	}
	return errors.Join(errs...)
}

// findPool returns a resource pool by name.
func (c Config) findPool(name string) (Pool, bool) {
	at := slices.IndexFunc(c.Pools, func(p Pool) bool { return p.Name == name })
	if at < 0 {
		return Pool{}, false
	}
	return c.Pools[at], true
}

func (c Config) poolNames() []string {
	names := make([]string, 0, len(c.Pools))
	for _, p := range c.Pools {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// shapeAllocation sets the number of pods of an allocation and the requests of each. It returns an
// error if the request is impossible. state.mu is held.
func (c Config) shapeAllocation(a *allocation) error {
	p, found := c.findPool(a.Pool)
	if !found {
		return fmt.Errorf("%w: %q; choose one of %q", rm.ErrUnknownPool, a.Pool, c.poolNames())
	}
	pods, slots, err := p.splitRequest(a.Request)
	if err != nil {
		return err
	}
	draft, err := podspec.Draft(a.Request, p.Template)
	if err != nil {
		return fmt.Errorf("resource pool %q: %w", p.Name, err)
	}
	s, err := gang.PodOf(draft)
	if err != nil {
		return fmt.Errorf("resource pool %q: %w", p.Name, err)
	}
	a.pod = s
	a.addContainers(pods, slots, p.Template.SlotType)
	return nil
}

// splitRequest returns the number of pods of a request and the slots of each. The error has the
// message of an rm.Unfulfillable but not the type, because no additional node would help, so there
// is nothing to wait for.
func (p Pool) splitRequest(q rm.Request) (pods, slots int, err error) {
	pods, slots, err = gang.Split(q.Slots, p.Template.MaxSlotsPerPod, q.SingleNode)
	if err != nil {
		u := rm.Unfulfillable{Pool: p.Name, Slots: q.Slots, Reason: err.Error()}
		return 0, 0, errors.New(u.Error())
	}
	return pods, slots, nil
}

// gracePeriod returns the time that a program has after SIGTERM: the pod's grace period, up to the
// limit of its resource pool. A pod of an earlier version may exceed it.
func (c Config) gracePeriod(a *allocation, pod *corev1.Pod) time.Duration {
	return min(observe.GracePeriod(pod), c.graceLimit(a))
}

// graceLimit returns the maximum grace period of an allocation's pods.
func (c Config) graceLimit(a *allocation) time.Duration {
	p, _ := c.findPool(a.Pool)
	return p.Template.GraceLimit(a.Request)
}

// isAutoscaled reports whether nodes are added for an allocation's resource pool.
func (c Config) isAutoscaled(a *allocation) bool {
	p, _ := c.findPool(a.Pool)
	return p.Autoscaled
}

// poolPlacements returns the placement constraints of all resource pools, for tasks without and
// with slots.
func (c Config) poolPlacements() (map[string][]nodes.Placement, error) {
	out := make(map[string][]nodes.Placement, len(c.Pools))
	for _, p := range c.Pools {
		for _, slots := range []int{0, min(1, p.Template.MaxSlotsPerPod)} {
			spec, err := podspec.Draft(rm.Request{Slots: slots}, p.Template)
			if err != nil {
				return nil, fmt.Errorf("resource pool %q: %w", p.Name, err)
			}
			out[p.Name] = append(out[p.Name], nodes.PlacementOf(spec))
		}
	}
	return out, nil
}
