package cloud

import (
	"context"
	"time"
)

// InstanceID is the platform's ID of a machine: "i-0abc…".
type InstanceID string

// Price is the pricing model of a machine, which determines whether the platform may interrupt it.
type Price string

// The pricing models.
const (
	// OnDemand machines run until they are terminated.
	OnDemand Price = "on-demand"
	// Spot machines are cheaper and may be interrupted at any time.
	Spot Price = "spot"
)

// Offer is a combination of machine type, location and pricing model. A pool tries its offers in
// the configured order.
type Offer struct {
	// Type is the platform's machine type: "g5.xlarge".
	Type string `json:"type"`
	// Zone is the configured zone or subnet ID. It is empty if the platform chooses.
	Zone  string `json:"zone,omitempty"`
	Price Price  `json:"price"`
}

// Launch is a request for machines.
type Launch struct {
	// Token makes the call idempotent: requests with the same token and content yield the same
	// machines, across retries and restarts. It has at most 64 printable ASCII characters, EC2's
	// limit.
	Token string
	Offer Offer
	// Count is the requested number of machines. The platform may launch fewer, but at least one;
	// otherwise the call fails.
	Count int
}

// InstanceState is the state of a machine on its platform.
//
//	Starting ──▶ Running ──▶ Stopping ──▶ Stopped ──▶ Terminated
//	    └───────────┴────────────┴──────────────────────▲
type InstanceState string

// The states.
const (
	// InstanceStarting machines are allocated and not yet running.
	InstanceStarting InstanceState = "starting"
	// InstanceRunning machines are running, whether or not their agent has connected.
	InstanceRunning InstanceState = "running"
	// InstanceStopping machines are being stopped or terminated.
	InstanceStopping InstanceState = "stopping"
	// InstanceStopped machines are not running; their disks are still billed.
	InstanceStopped InstanceState = "stopped"
	// InstanceTerminated machines are deleted and remain listed for a while.
	InstanceTerminated InstanceState = "terminated"
)

// Instance is a launched machine as listed by its platform.
type Instance struct {
	ID    InstanceID
	State InstanceState
	Offer Offer
	// Zone is the actual zone, if the platform reports it: "us-west-2a".
	Zone string
	// Token is the token of the launch that created the machine, if the platform reports it.
	Token string
	// Launched is the launch time by the platform's clock.
	Launched time.Time
	// Reason is the platform's reason for the termination, if it reports one:
	// "Server.SpotInstanceTermination".
	Reason string
	// Kind classifies a termination by the platform, if the platform reports the cause: NoCapacity
	// after a spot interruption, Quota if a disk could not be created. Fix is the advice for the
	// user.
	Kind Kind
	Fix  string
}

// Instances launches and terminates the machines of one resource pool. An implementation is used by
// one master at a time and must be safe for concurrent use. It does not retry after an error of the
// platform: it returns an error with a Kind (NoCapacity, Quota, Denied, Invalid, RateLimited,
// Ambiguous, Unavailable), and the caller decides how to proceed.
type Instances interface {
	// Launch creates machines with the pool's labels in the same call and returns them. After an
	// Ambiguous error, callers repeat the same Launch, including its token.
	Launch(ctx context.Context, l Launch) ([]Instance, error)

	// Terminate deletes machines. It ignores machines that no longer exist. It returns before the
	// deletion completes.
	Terminate(ctx context.Context, ids []InstanceID) error

	// List returns all machines of the pool that the platform still lists, in any state, sorted by
	// ID. It reads all pages and checks the pool's labels again after filtering on the server. The
	// result may be stale by up to a minute, in either direction.
	List(ctx context.Context) ([]Instance, error)
}

// Console is implemented by Instances of platforms that provide console output.
type Console interface {
	// Console returns the last lines of a machine's console output. An error of the kind Denied
	// names the missing permission.
	Console(ctx context.Context, id InstanceID) (string, error)
}

// Restorer is implemented by Instances that need the location of a machine to address it.
type Restorer interface {
	// Restore provides the locations of machines launched by an earlier master. It is called before
	// any other method and makes no API calls.
	Restore(machines []Instance)
}

// Sweeper is implemented by Instances that may leave resources other than machines behind, such as
// open spot requests.
type Sweeper interface {
	// Sweep deletes remaining resources with the pool's labels and returns a description of each.
	Sweep(ctx context.Context) ([]string, error)
}

// Proof is a proof of identity sent by a launched machine. Kind is the platform's proof type
// ("aws-sts", "local"). Data is opaque to all but that platform's Attestor.
type Proof struct {
	Kind string `json:"kind"`
	Data []byte `json:"data"`
}

// Attestor verifies the proofs of one platform.
type Attestor interface {
	// Attest verifies proof and returns the machine's identity. Audience is the cluster ID, which
	// the machine includes in the signed content, so that a proof for one cluster is invalid for
	// any other. It returns an error of the kind Denied if the proof is invalid.
	Attest(ctx context.Context, audience string, proof Proof) (Attested, error)
}

// Attested is the identity established by a proof.
type Attested struct {
	Instance InstanceID
	// Once identifies the proof by its signature and nonce. It is equal for all encodings of the
	// same proof.
	Once string
}
