// Package awstest is an in-memory fake of AWS: clients of the real SDK whose requests are handled
// by a World instead of being sent. Everything above the network (gate, retries, error translation)
// is production code. It implements the behavior that affects an installer: tags set by the
// creating call, pages, dependencies, idempotency tokens where Amazon supports them, transitions
// that take time, lists that lag; and it can inject a fault into any call. Only tests may import
// it.
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

// Account is the ID of the world's account.
const Account = "123456789012"

// Options configures a world. In the zero value, calls return at once and lists are always up to
// date.
type Options struct {
	// Region is the region of Clients. Empty means us-west-2.
	Region string
	// Page is the maximum number of objects per page. Zero means 3, so that clients without paging
	// fail.
	Page int
	// Boot is the time for which an instance is pending, Shutdown the time for which it is stopping
	// or shutting down, and Linger the time for which its network interfaces, and deleted
	// endpoints, remain in the network.
	Boot, Shutdown, Linger time.Duration
	// Disk is the time for creating, detaching or snapshotting a volume.
	Disk time.Duration
	// Reuse is the time for which the name of a deleted bucket or secret cannot be reused.
	Reuse time.Duration
	// Latency is the latency of each attempt of a call.
	Latency time.Duration
	// Lag is the delay of lists with filters after a change. Reads by ID are not affected.
	Lag time.Duration
	// Shy is the number of reads by ID in which a new object is not found.
	Shy int
	// FreshProfile is the number of RunInstances calls in which a new profile is not found.
	FreshProfile int
	// NoDefaultVPC omits the default VPC.
	NoDefaultVPC bool
}

// World is a fake AWS account. Create a new one for each test. It is safe for concurrent use.
type World struct {
	opt Options

	mu        sync.Mutex // guards all fields below
	ahead     time.Duration
	serial    int
	changed   int // number of changes, so that a list can be stale by one
	back      int // number of changes by which the lists of the current call are stale
	sites     map[string]*site
	iam       iamState
	s3        s3State
	schedule  faults.Schedule
	denied    []string
	withdrawn []string // IDs of images
	granted   Granted  // nil allows everything
	diskKey   string   // empty for the AWS managed key

	acts  map[string]act       // implementations; immutable
	calls map[string]edge.Call // calls of package api; immutable
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

// New returns a world in the state of a new account: zones, instance types, images, and a default
// VPC in each region.
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

// Clients returns clients in the world's region. Gate may be nil.
func (w *World) Clients(gate *resource.Gate) api.Clients { return w.ClientsIn(w.opt.Region, gate) }

// ClientsIn returns clients in another region of the same account.
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
				o.RateLimiter, o.MaxAttempts = ratelimit.None, api.Attempts
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

// Now returns the world's time: the system clock plus the time added by Advance. In a synctest
// bubble, it uses the bubble's clock.
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

// Sleep moves the world's clock. It is for waiters with a configurable sleep function.
func (w *World) Sleep(ctx context.Context, d time.Duration) error {
	w.Advance(d)
	return ctx.Err()
}

// Tune changes the options of a world in use, such as its lags.
func (w *World) Tune(f func(*Options)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.opt)
}

// id returns an ID like EC2's: a prefix and 17 hexadecimal digits.
func (w *World) id(prefix string) string {
	w.serial++
	return fmt.Sprintf("%s-%017x", prefix, w.serial)
}

// arn returns the ARN of an object of the account.
func (s *site) arn(service, path string) string {
	return "arn:aws:" + service + ":" + s.region + ":" + Account + ":" + path
}

func number(n int) string { return strconv.Itoa(n) }
