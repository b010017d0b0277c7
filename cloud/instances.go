package cloud

import (
	"context"
	"time"
)

// InstanceID is a machine's name on its platform: "i-0abc…".
type InstanceID string

// Price is how a machine is paid for, and so whether the platform may take it
// back.
type Price string

// The price classes.
const (
	// OnDemand machines stay until they are terminated.
	OnDemand Price = "on-demand"
	// Spot machines are cheaper and may be interrupted at any moment.
	Spot Price = "spot"
)

// Offer is one way to get a machine for a pool: a type, a place and a price
// class. A pool tries its offers in the order in which they are configured.
type Offer struct {
	// Type is the platform's word for the machine: "g5.xlarge".
	Type string `json:"type"`
	// Zone is where: a zone or a subnet's id, as the pool was configured; it is
	// empty where the platform chooses.
	Zone  string `json:"zone,omitempty"`
	Price Price  `json:"price"`
}

// Launch asks for machines.
type Launch struct {
	// Token makes the call idempotent: the same token with the same content
	// gives the same machines, however often it is sent and after any restart.
	// At most 64 printable ASCII characters, EC2's limit.
	Token string
	Offer Offer
	// Count is how many machines are wanted. Fewer may come, but not none: then
	// the call is refused.
	Count int
}

// InstanceState is what a platform says about a machine.
//
//	Starting ──▶ Running ──▶ Stopping ──▶ Stopped ──▶ Terminated
//	    └───────────┴────────────┴──────────────────────▲
type InstanceState string

// The states.
const (
	// InstanceStarting is a machine that has been granted and does not run yet.
	InstanceStarting InstanceState = "starting"
	// InstanceRunning is a machine that runs, whether or not its agent joined.
	InstanceRunning InstanceState = "running"
	// InstanceStopping is a machine on its way to stopped or terminated.
	InstanceStopping InstanceState = "stopping"
	// InstanceStopped is a machine that does not run and still costs its disk.
	InstanceStopped InstanceState = "stopped"
	// InstanceTerminated is a machine that is gone and still listed for a while.
	InstanceTerminated InstanceState = "terminated"
)

// Instance is one launched machine as its platform lists it.
type Instance struct {
	ID    InstanceID
	State InstanceState
	Offer Offer
	// Zone is where it stands, where the platform tells: "us-west-2a".
	Zone string
	// Token is that of the launch that made it, where the platform tells.
	Token string
	// Launched is when it was granted, by the platform's clock.
	Launched time.Time
	// Reason is why it ended, in the platform's words, where it tells:
	// "Server.SpotInstanceTermination".
	Reason string
	// Kind is what refusal its end amounts to, where its platform ended it and
	// says what for: NoCapacity for one that was interrupted, Quota for one that
	// no disk could be made for. Fix is what can be done about it.
	Kind Kind
	Fix  string
}

// Instances launches and removes the machines of one resource pool. An
// implementation is used by one master at a time and safe for concurrent calls.
// It never retries what a platform refused: refusals are errors with a Kind
// (NoCapacity, Quota, Denied, Invalid, RateLimited, Ambiguous, Unavailable), and
// what to do about them is decided by the caller.
type Instances interface {
	// Launch starts machines marked as the pool's in the same call and returns
	// those that were granted. After Ambiguous the same Launch, token included,
	// is sent again.
	Launch(ctx context.Context, l Launch) ([]Instance, error)

	// Terminate removes machines for good. What is already gone is not an
	// error. It returns before they are gone.
	Terminate(ctx context.Context, ids []InstanceID) error

	// List returns every machine of the pool that is not yet forgotten by the
	// platform, in all states, sorted by ID. It pages to the end and checks the
	// pool's mark again on what a filter returned. It may be up to a minute
	// late in either direction.
	List(ctx context.Context) ([]Instance, error)
}

// Console is implemented by Instances whose platform shows what a machine wrote
// while it booted.
type Console interface {
	// Console returns the last lines that a machine wrote while it booted. The
	// refusal Denied names the permission that is missing.
	Console(ctx context.Context, id InstanceID) (string, error)
}

// Restorer is implemented by Instances that ask for a machine by where it is.
type Restorer interface {
	// Restore says where machines are that an earlier master has launched. It is called
	// before anything else, and asks the platform for nothing.
	Restore(machines []Instance)
}

// Sweeper is implemented by Instances that can leave something other than
// machines behind, such as spot requests that are still open.
type Sweeper interface {
	// Sweep removes left-overs with the pool's mark and tells what it removed.
	Sweep(ctx context.Context) ([]string, error)
}

// Proof is what a launched machine shows to prove which machine it is. Kind
// names the platform's form ("aws-sts", "local"); Data is opaque to everyone but
// that platform's Attestor.
type Proof struct {
	Kind string `json:"kind"`
	Data []byte `json:"data"`
}

// Attestor checks proofs of one platform.
type Attestor interface {
	// Attest returns which machine proof is about. Audience is the cluster's id,
	// which the machine put under its signature, so that a proof for one cluster
	// opens no other. The refusal Denied means that it proves nothing.
	Attest(ctx context.Context, audience string, proof Proof) (Attested, error)
}

// Attested is what a proof proves.
type Attested struct {
	Instance InstanceID
	// Once identifies the proof by its signature and nonce: two texts of one
	// proof, however they are spelled, have the same.
	Once string
}
