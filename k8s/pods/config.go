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

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/pods/claim"
	"github.com/det-deploy/det-deploy/k8s/pods/nodes"
	"github.com/det-deploy/det-deploy/k8s/pods/observe"
	"github.com/det-deploy/det-deploy/k8s/pods/records"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/rm"
)

// The labels by which objects are found again.
const (
	// ClusterLabel is on every object of a cluster; its value is the cluster's name.
	ClusterLabel = podspec.LabelCluster
	// AllocationLabel is on every Job, pod and Secret of an allocation.
	AllocationLabel = podspec.LabelTask
)

// Config is what a resource manager for pods is built from.
type Config struct {
	Log    *slog.Logger
	Client kubernetes.Interface
	// Cluster is the value of ClusterLabel on what is this cluster's, and Namespace
	// where pods are made: those of every pool's template.
	Cluster, Namespace string
	// Former are namespaces in which pods were made before: what runs there is
	// followed to its end.
	Former []string

	// Tasks and Logs receive what happens.
	Tasks  rm.Tasks
	Logs   rm.Logs
	Memory records.Memory
	// LastLine is the time of a container's last stored line, zero when there is
	// none. It may be nil; it is asked when a node has rotated a log while no master
	// was there.
	LastLine func(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error)

	// Logins are the sign-ins to registries that each task gets a copy of. It is asked
	// for each, because they change; it may be nil.
	Logins func() (podspec.Logins, error)

	// Claim keeps the volume claim of checkpoints; nil where the cluster has none that it makes.
	Claim *claim.Keeper

	Pools []Pool
	// DefaultAux and DefaultCompute are the pools of requests that name none.
	DefaultAux     string
	DefaultCompute string
	// ClusterName is shown to clients.
	ClusterName string
	// Metadata is shown to clients as it is.
	Metadata map[string]string

	// Gang is how gangs are decided; zero takes the default.
	Gang gang.Options
	// Leave keeps the objects of ended allocations, for debugging.
	Leave bool

	// Limits are how long things may take; zero takes the default.
	Limits Limits
}

// Pool is one queue. Pools share nodes unless their pod specs choose others.
type Pool struct {
	Name        string
	Description string
	// Autoscaled says that nodes are added for pods that find none.
	Autoscaled bool
	// Template is what all of its tasks have in common.
	Template podspec.Template
	// Policy is what tasks of this pool may do, and Price what its slots cost, to be shown.
	Policy *apiv1.TaskPolicy
	Price  *apiv1.SlotPrice
}

// Limits are how long things may take.
type Limits struct {
	// Start is how long a container may be kept from starting by something that
	// may pass, such as a registry that does not answer.
	Start time.Duration
	// Volume is the same for what its node says of its volumes or its network.
	Volume time.Duration
	// Lost is how long a pod may outlive the time by which it was to be gone,
	// before its node is taken for lost.
	Lost time.Duration
	// Lines is how long a node may say nothing when it is asked for the rest of an
	// ended container's log.
	Lines time.Duration
	// Sight is how long it may take to notice that the account may see more or less of
	// the cluster than before.
	Sight time.Duration
}

// DefaultLimits suit clusters whose registries are near.
func DefaultLimits() Limits {
	return Limits{
		Start: 5 * time.Minute,
		// Kubernetes takes a volume away from a machine that is gone after six.
		Volume: 15 * time.Minute,
		Lost:   30 * time.Second,
		Lines:  30 * time.Second,
		Sight:  time.Minute,
	}
}

// startOf is how long a container may be kept from starting.
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

// findPool finds a pool by name.
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

// shapeAllocation works out how many pods an allocation has and what each asks for. The error
// says that there can be none. state.mu is held.
func (c Config) shapeAllocation(a *allocation) error {
	p, found := c.findPool(a.Pool)
	if !found {
		return fmt.Errorf("%w: %q; there are %q", rm.ErrUnknownPool, a.Pool, c.poolNames())
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

// splitRequest says how many pods a request gets and how many slots each has. The error has
// the words of an rm.Unfulfillable and is none: no node that may come changes it, so
// that there is nothing to wait for.
func (p Pool) splitRequest(q rm.Request) (pods, slots int, err error) {
	pods, slots, err = gang.Split(q.Slots, p.Template.MaxSlotsPerPod, q.SingleNode)
	if err != nil {
		u := rm.Unfulfillable{Pool: p.Name, Slots: q.Slots, Reason: err.Error()}
		return 0, 0, errors.New(u.Error())
	}
	return pods, slots, nil
}

// gracePeriod is how long a program has after SIGTERM: what its pod says, within the limit of its
// pool. A pod of an earlier version may say anything.
func (c Config) gracePeriod(a *allocation, pod *corev1.Pod) time.Duration {
	return min(observe.GracePeriod(pod), c.graceLimit(a))
}

// graceLimit is how long a program may take to end, whatever its pod says.
func (c Config) graceLimit(a *allocation) time.Duration {
	p, _ := c.findPool(a.Pool)
	return p.Template.GraceLimit(a.Request)
}

// isAutoscaled reports whether nodes are added for an allocation's pool.
func (c Config) isAutoscaled(a *allocation) bool {
	p, _ := c.findPool(a.Pool)
	return p.Autoscaled
}

// poolPlacements are the placements of all pools, for tasks with and without slots.
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
