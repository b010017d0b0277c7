// Package awstest is Amazon in memory: the real SDK's clients, whose requests end
// in a World instead of on a wire. Everything that stands before the wire (gate,
// retries, translation of refusals) is the code that runs in earnest. It keeps
// the rules that an installer stumbles over: tags put on by the creating call,
// pages, dependencies, idempotency tokens where Amazon has them and none where
// it has none, states that take time, lists that lag; and it fails at whichever
// call a test asks for. Only tests may import it.
package awstest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/edge"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Account is whose world it is.
const Account = "123456789012"

// Options is what a world is like. The zero value is a world that answers at
// once and whose lists are always right.
type Options struct {
	// Region is where Clients are; us-west-2 when empty.
	Region string
	// Page is how many objects a list returns at most; 3 when zero, so that a
	// client that does not page is noticed.
	Page int
	// Boot is how long a machine is pending, Shutdown how long it is stopping or
	// shutting down, and Linger how long its network interfaces, and endpoints
	// that were deleted, hold on to their network.
	Boot, Shutdown, Linger time.Duration
	// Disk is how long a volume is being made, let go of, or copied into a
	// snapshot.
	Disk time.Duration
	// Reuse is how long the name of a bucket, or of a secret that was deleted by
	// force, is not free again.
	Reuse time.Duration
	// Latency is how long each attempt of a call is on its way.
	Latency time.Duration
	// Lag is how long a list by filters stays as it was after a change. Objects
	// that are asked for by identity are not concerned.
	Lag time.Duration
	// Shy is how often a new object is not found when it is asked for by
	// identity.
	Shy int
	// FreshProfile is how often RunInstances does not know a new profile.
	FreshProfile int
	// NoDefaultVPC leaves out the network that every account begins with.
	NoDefaultVPC bool
}

// World is Amazon. Make a new one for each test. It is safe for concurrent calls.
type World struct {
	opt Options

	mu       sync.Mutex // guards everything below
	ahead    time.Duration
	serial   int
	changed  int // counts changes, so that a list can be stale by one
	back     int // how many changes the list of the call in hand is behind
	sites    map[string]*site
	iam      iamState
	s3       s3State
	schedule faults.Schedule
	denied   []string
	granted  Granted // nil for everything
	diskKey  string  // empty for Amazon's own

	acts  map[string]act       // what it can do; does not change
	calls map[string]edge.Call // what package api knows of it; does not change
}

// site is one region of a world.
type site struct {
	*World
	region string
	net    netState
	ec2    ec2State
	vault  vault
	logs   logState
	quotas map[string]float64
}

// New makes a world that has what a new account has: zones, instance types,
// images, and a default network in each region.
func New(o Options) *World {
	if o.Region == "" {
		o.Region = "us-west-2"
	}
	if o.Page == 0 {
		o.Page = 3
	}
	w := &World{opt: o, sites: make(map[string]*site), acts: acts(), calls: api.Calls().Index()}
	w.iam = newIAM(w)
	w.s3 = newS3(w)
	w.site(o.Region)
	return w
}

// Clients are clients in the world's region. Gate may be nil.
func (w *World) Clients(gate *resource.Gate) api.Clients { return w.ClientsIn(w.opt.Region, gate) }

// ClientsIn are clients in another region of the same account.
func (w *World) ClientsIn(region string, gate *resource.Gate) api.Clients {
	w.mu.Lock()
	s := w.site(region)
	w.mu.Unlock()
	cfg := aws.Config{
		Region:      region,
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "in-memory", ""),
		APIOptions:  []func(*stack) error{s.add},
		Retryer: func() aws.Retryer {
			return retry.NewStandard(func(o *retry.StandardOptions) {
				o.RateLimiter = ratelimit.None
				o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
			})
		},
	}
	return api.New(cfg, api.Options{Gate: gate})
}

func (w *World) site(region string) *site {
	if s, ok := w.sites[region]; ok {
		return s
	}
	s := &site{World: w, region: region, quotas: defaultQuotas()}
	s.net, s.ec2, s.vault, s.logs = newNet(w), newEC2(s), newVault(w), newLogs(w)
	w.sites[region] = s
	if !w.opt.NoDefaultVPC {
		s.makeDefaultVPC()
	}
	return s
}

// Now is the world's time: the machine's clock, and what Advance added to it. In
// a synctest bubble it is the bubble's.
func (w *World) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now()
}

func (w *World) now() time.Time { return time.Now().Add(w.ahead).UTC() }

// Advance moves the world's clock.
func (w *World) Advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += d
}

// Sleep waits by moving the world's clock; it is for waiters that take their
// sleep as a parameter.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	w.Advance(d)
	return ctx.Err()
}

// Tune changes the options of a world that is in use, such as its lags.
func (w *World) Tune(f func(*Options)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.opt)
}

// id makes an identity as EC2's are: a prefix and 17 hexadecimal digits.
func (w *World) id(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s-%017x", prefix, w.serial)
}

// arn names an object of the account's.
func (s *site) arn(service, path string) string {
	return "arn:aws:" + service + ":" + s.region + ":" + Account + ":" + path
}

func number(n int) string { return strconv.Itoa(n) }
