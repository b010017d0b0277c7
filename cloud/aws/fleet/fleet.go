// Package fleet launches and removes the EC2 machines of one resource pool:
// on-demand or spot, of several types in several subnets, all by the same call.
// It carries out and never decides; how many there should be is its caller's.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/det-deploy/det-deploy/cloud"
)

// EC2 is what a fleet asks of Amazon. The first three actions are all it needs;
// it does without the others and names what it misses.
type EC2 interface {
	RunInstances(ctx context.Context, in *ec2.RunInstancesInput, o ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
	DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	TerminateInstances(ctx context.Context, in *ec2.TerminateInstancesInput, o ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)

	DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, o ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
	GetConsoleOutput(ctx context.Context, in *ec2.GetConsoleOutputInput, o ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
	DescribeSpotInstanceRequests(ctx context.Context, in *ec2.DescribeSpotInstanceRequestsInput, o ...func(*ec2.Options)) (*ec2.DescribeSpotInstanceRequestsOutput, error)
	CancelSpotInstanceRequests(ctx context.Context, in *ec2.CancelSpotInstanceRequestsInput, o ...func(*ec2.Options)) (*ec2.CancelSpotInstanceRequestsOutput, error)
}

// Tag is a key and its value.
type Tag struct{ Key, Value string }

// The tags that every machine and its disk carry, beside the pool's own. A
// machine is this cluster's and this pool's if it has the first two.
const (
	TagCluster = "det-deploy-cluster"
	TagPool    = "det-deploy-pool"
	// TagOldPool and TagOldMaster are what Determined 0.38.1 writes.
	TagOldPool   = "determined-resource-pool"
	TagOldMaster = "determined-master-address"
	// TagAgents is the tag_key that `det-deploy aws up` writes. Its value is the
	// cluster's id, as everything else of that cluster is marked.
	TagAgents = "det-deploy-agents"
	tagName   = "Name"
)

// Config is one pool.
type Config struct {
	// Cluster and Pool are whose the machines are.
	Cluster, Pool string
	// Tag is the pair that marks a cluster's machines: tag_key and tag_value.
	Tag Tag
	// Name is the machines' Name tag, MasterURL the address that they are given,
	// Tags further ones.
	Name, MasterURL string
	Tags            []Tag

	Image string
	// RootDevice is what the image calls its root disk: "/dev/sda1". It is asked of
	// EC2 when empty.
	RootDevice string
	// RootGB is the size of the root disk.
	RootGB int
	// Subnets is where machines may stand. Without any it is the default VPC.
	Subnets []string
	// Group is their security group; empty is the VPC's default.
	Group    string
	PublicIP bool
	// Key is an EC2 key pair, ProfileARN an instance profile; both may be empty.
	Key, ProfileARN string
	// MaxPrice is the most dollars an hour for a spot machine; empty is up to the
	// on-demand price.
	MaxPrice string
	// Spot says that the pool launches spot machines, and so may leave requests.
	Spot bool
	// UserData is what machines run at boot.
	UserData []byte

	// Log receives what the fleet does without. It may be nil.
	Log *slog.Logger
}

// EC2's limits on what a pool is configured with.
const (
	userDataLimit = 16 << 10 // bytes, before they are encoded
	tagsLimit     = 50       // a resource
)

// Fleet is the machines of one pool.
type Fleet struct {
	ec2 EC2
	cfg Config

	// mu guards root, the image's root device once it is known.
	mu   sync.Mutex
	root string
}

var (
	_ cloud.Instances = (*Fleet)(nil)
	_ cloud.Console   = (*Fleet)(nil)
	_ cloud.Sweeper   = (*Fleet)(nil)
)

// New checks what can be checked without Amazon; every complaint is in the
// error, whose kind is Invalid.
func New(c EC2, cfg Config) (*Fleet, error) {
	if err := cfg.checkFields(); err != nil {
		return nil, &cloud.Error{Kind: cloud.Invalid, Op: "configure pool " + cfg.Pool, Err: err}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Fleet{ec2: c, cfg: cfg, root: cfg.RootDevice}, nil
}

func (c Config) checkFields() error {
	var errs []error
	need := func(value, what string) {
		if value == "" {
			errs = append(errs, errors.New(what))
		}
	}
	need(c.Cluster, "the cluster's id is needed to tell its machines from others'")
	need(c.Pool, "the pool's name is needed to tell its machines from others'")
	need(c.Image, "provider.image_id: name the AMI of this region that agents start from")
	if c.Tag.Key == "" || c.Tag.Value == "" {
		errs = append(errs, errors.New("provider.tag_key, provider.tag_value: both are needed to mark the machines"))
	}
	if len(c.UserData) > userDataLimit {
		errs = append(errs, fmt.Errorf("the user data has %d bytes and EC2 takes %d", len(c.UserData), userDataLimit))
	}
	seen := map[string]bool{}
	for _, t := range c.instanceTags() {
		if seen[t.Key] {
			errs = append(errs, fmt.Errorf("provider.custom_tags: %q is given twice, or is one that machines get anyway", t.Key))
		}
		seen[t.Key] = true
		if reserved := strings.HasPrefix(strings.ToLower(t.Key), "aws:"); reserved || len(t.Key) > 128 || len(t.Value) > 256 {
			errs = append(errs, fmt.Errorf("provider.custom_tags: %q is no tag that Amazon takes: a key has at most 128 characters and does not begin with aws:, a value at most 256", t.Key))
		}
	}
	if n := len(seen); n > tagsLimit {
		errs = append(errs, fmt.Errorf("provider.custom_tags: machines would get %d tags and Amazon takes %d", n, tagsLimit))
	}
	return errors.Join(errs...)
}

// instanceTags is every tag of a machine.
func (c Config) instanceTags() []Tag {
	tags := []Tag{
		{TagCluster, c.Cluster},
		{TagPool, c.Pool},
		c.Tag,
		{TagOldPool, c.Pool},
		{TagOldMaster, c.MasterURL},
	}
	if c.Name != "" {
		tags = append(tags, Tag{tagName, c.Name})
	}
	return append(slices.DeleteFunc(tags, func(t Tag) bool { return t.Key == "" }), c.Tags...)
}
