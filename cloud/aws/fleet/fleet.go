// Package fleet launches and terminates the EC2 instances of one resource pool: on-demand or spot,
// of several types in several subnets, all by the same call. The caller decides how many instances
// there should be.
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

// EC2 is the part of the EC2 API that a fleet uses. Only the first three calls are required. If a
// permission for one of the others is missing, the fleet logs its name and works without it.
type EC2 interface {
	RunInstances(ctx context.Context, in *ec2.RunInstancesInput, o ...func(*ec2.Options)) (*ec2.RunInstancesOutput, error)
	DescribeInstances(ctx context.Context, in *ec2.DescribeInstancesInput, o ...func(*ec2.Options)) (*ec2.DescribeInstancesOutput, error)
	TerminateInstances(ctx context.Context, in *ec2.TerminateInstancesInput, o ...func(*ec2.Options)) (*ec2.TerminateInstancesOutput, error)

	DescribeImages(ctx context.Context, in *ec2.DescribeImagesInput, o ...func(*ec2.Options)) (*ec2.DescribeImagesOutput, error)
	GetConsoleOutput(ctx context.Context, in *ec2.GetConsoleOutputInput, o ...func(*ec2.Options)) (*ec2.GetConsoleOutputOutput, error)
	DescribeSpotInstanceRequests(ctx context.Context, in *ec2.DescribeSpotInstanceRequestsInput, o ...func(*ec2.Options)) (*ec2.DescribeSpotInstanceRequestsOutput, error)
	CancelSpotInstanceRequests(ctx context.Context, in *ec2.CancelSpotInstanceRequestsInput, o ...func(*ec2.Options)) (*ec2.CancelSpotInstanceRequestsOutput, error)
}

// Tag is a tag.
type Tag struct{ Key, Value string }

// The tags of all instances and volumes besides the configured one. An instance belongs to the
// cluster and pool if it has the first two.
const (
	TagCluster = "det-deploy-cluster"
	TagPool    = "det-deploy-pool"
	// TagOldPool and TagOldMaster are the tags of Determined 0.38.1.
	TagOldPool   = "determined-resource-pool"
	TagOldMaster = "determined-master-address"
	// TagAgents is the tag_key that `det-deploy aws up` configures. Its value is the cluster ID, as
	// in the other tags of the cluster.
	TagAgents = "det-deploy-agents"
	tagName   = "Name"
)

// Config is the configuration of one pool.
type Config struct {
	// Cluster and Pool identify the owner of the instances.
	Cluster, Pool string
	// Tag is the configured tag of the cluster's instances: tag_key and tag_value.
	Tag Tag
	// Name is the Name tag of the instances, MasterURL the URL of their master, Tags are additional
	// tags.
	Name, MasterURL string
	Tags            []Tag

	Image string
	// RootDevice is the device name of the image's root volume: "/dev/sda1". If it is empty, EC2 is
	// queried.
	RootDevice string
	// RootGB is the size of the root volume.
	RootGB int
	// Subnets are the subnets to launch in. If it is empty, the default VPC is used.
	Subnets []string
	// Group is the security group. If it is empty, the VPC's default group is used.
	Group    string
	PublicIP bool
	// Key is an EC2 key pair, ProfileARN an instance profile. Both may be empty.
	Key, ProfileARN string
	// MaxPrice is the maximum hourly spot price in US dollars. If it is empty, it is the on-demand
	// price.
	MaxPrice string
	// Spot reports whether the pool launches spot instances, so that it may leave spot requests
	// behind.
	Spot bool
	// UserData is the user data of the instances.
	UserData []byte

	// Log receives a message for each missing permission. It may be nil.
	Log *slog.Logger
}

// EC2's limits for the configuration of a pool.
const (
	userDataLimit = 16 << 10 // bytes, before encoding
	tagsLimit     = 50       // per resource
)

// Fleet implements cloud.Instances for one pool.
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

// New returns a fleet. It returns an Invalid error that lists all invalid fields, as far as they
// can be checked without API calls.
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
	need(c.Cluster, "the cluster ID is required to identify its machines")
	need(c.Pool, "the pool name is required to identify its machines")
	need(c.Image, "provider.image_id: must be an AMI of this region")
	if c.Tag.Key == "" || c.Tag.Value == "" {
		errs = append(errs, errors.New("provider.tag_key, provider.tag_value: must both be set"))
	}
	if len(c.UserData) > userDataLimit {
		errs = append(errs, fmt.Errorf("the user data has %d bytes, the maximum is %d", len(c.UserData), userDataLimit))
	}
	seen := map[string]bool{}
	for _, t := range c.instanceTags() {
		if seen[t.Key] {
			errs = append(errs, fmt.Errorf("provider.custom_tags: %q is duplicate or reserved", t.Key))
		}
		seen[t.Key] = true
		if reserved := strings.HasPrefix(strings.ToLower(t.Key), "aws:"); reserved || len(t.Key) > 128 || len(t.Value) > 256 {
			errs = append(errs, fmt.Errorf("provider.custom_tags: %q is invalid: a key has at most 128 characters and does not begin with aws:, a value at most 256 characters", t.Key))
		}
	}
	if n := len(seen); n > tagsLimit {
		errs = append(errs, fmt.Errorf("provider.custom_tags: instances would have %d tags, the maximum is %d", n, tagsLimit))
	}
	return errors.Join(errs...)
}

// instanceTags returns all tags of an instance.
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
