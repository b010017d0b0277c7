// Package checks implements the preflight checks of a cluster on AWS.
package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
)

// Subject is the cluster to check.
type Subject struct {
	layout.Layout
	*hosted.Cluster

	Clients api.Clients
	Caller  facts.Caller
	Owner   *mark.Cluster
	Control control.Bucket
	// Scope limits the policies of the cluster to some resources.
	Scope policy.Scope
	// Placeholder returns stand-ins for resources that have no ID yet.
	Placeholder func() (hosted.Live, error)
}

// List returns the preflight checks of the cluster.
func (s Subject) List() []doctor.Check {
	c := &checker{s, facts.Facts{Clients: s.Clients}}
	out := []doctor.Check{
		{Name: "identity", Look: c.checkIdentity},
		{Name: "clock", Look: c.checkClock},
		{Name: "permissions", Look: c.checkPermissions},
	}
	out = append(out, s.Checks()...)
	out = append(out, []doctor.Check{
		{Name: "names", Look: c.checkNames},
		{Name: "configuration", Look: func(context.Context) doctor.Result { return c.CheckConfiguration(c.Placeholder()) }},
		{Name: "instance types", Look: c.checkTypes},
		{Name: "images", Look: c.checkImages},
		{Name: "GPU drivers", Look: c.checkDrivers},
		{Name: "disk encryption", Look: c.diskKey},
		{Name: "quotas", Look: c.checkQuotas},
		{Name: "network", Look: c.checkNetwork},
	}...)
	if s.Spec.Network.Own() && !s.Spec.Network.PublicIP {
		out = append(out, doctor.Check{Name: "agents' internet access", Look: c.agentsWayOut})
	}
	if s.Spec.Network.MasterSecurityGroup != "" || s.Spec.Network.AgentSecurityGroup != "" {
		out = append(out, doctor.Check{Name: "security groups", Look: c.checkSecurityGroups})
	}
	if s.Spec.KeyPair != "" {
		out = append(out, doctor.Check{Name: "key pair", Look: c.keyPair})
	}
	if s.UsesSpot() {
		out = append(out, doctor.Check{Name: "spot", Look: c.checkSpot})
	}
	return append(out, c.existingChecks()...)
}

// checker implements the checks.
type checker struct {
	Subject

	facts facts.Facts
}

func (c *checker) checkIdentity(context.Context) doctor.Result {
	if c.Caller.Partition != "aws" {
		return doctor.Failed(c.Caller.ARN, "an account of the commercial partition", "use another account; other partitions are not built yet")
	}
	return doctor.Passed("%s in account %s", c.Caller.ARN, c.Caller.Account)
}

func (c *checker) checkClock(ctx context.Context) doctor.Result {
	const needed = "a clock within 5 minutes of AWS, which otherwise rejects signatures"
	out, err := c.Clients.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return doctor.FromError(err, needed)
	}
	theirs, ok := middleware.GetServerTime(out.ResultMetadata)
	if !ok {
		return doctor.Unsure("the response of AWS has no time", needed, "")
	}
	return doctor.Clock(c.Now(), theirs, "Amazon", needed)
}

func (c *checker) checkNames(ctx context.Context) doctor.Result {
	const needed = "names within the limits of S3 and IAM"
	fix := "choose another --cluster-id"
	// The limit of S3; the limit of IAM for roles is 64.
	for _, name := range []string{control.Name(c.Spec.Cluster, c.Caller.Account), storage.DataBucket(c.Spec.Cluster, c.Caller.Account)} {
		if len(name) > 63 {
			return doctor.Failed(fmt.Sprintf("bucket %s has %d characters; the limit of S3 is 63", name, len(name)), needed, fix)
		}
	}
	_, err := c.Control.Get(ctx, "record.json")
	switch cloud.KindOf(err) {
	case cloud.Denied:
		return doctor.Failed("bucket "+c.Control.Name+" cannot be read; it may belong to another account", needed, fix+", or ask its owner")
	case "":
		return doctor.Passed("bucket %s is this cluster's", c.Control.Name)
	case cloud.NotFound:
		return doctor.Passed("bucket %s", c.Control.Name)
	default:
		return doctor.FromError(err, needed)
	}
}

// checkTypes compares the requested instance types with those offered in each zone.
func (c *checker) checkTypes(ctx context.Context) doctor.Result {
	w := machines.Wanted{
		Types: c.Known.Types, Master: c.Spec.Master.InstanceType, MasterZone: c.Known.Master.Zone,
		Pools: map[string]machines.Pool{}, Exists: c.Exists,
		Fix: "choose others with --instance-type, --aux-instance-type or --master-instance-type, or other zones with --zone",
	}
	for name, p := range c.Spec.AllPools() {
		w.Pools[name] = machines.Pool{Types: p.InstanceTypes, Zones: c.PoolZones(p), Slots: c.SlotsOf(p), Given: p.Slots != nil, CPUSlots: p.CPUSlots}
	}
	return w.Check(ctx)
}

func (c *checker) keyPair(ctx context.Context) doctor.Result {
	const needed = "a key pair of this region"
	names, err := c.facts.KeyPairs(ctx)
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if !slices.Contains(names, c.Spec.KeyPair) {
		fix := "choose one with --key-pair: " + strings.Join(names, ", ")
		if len(names) == 0 {
			fix = "make one with `aws ec2 create-key-pair`, or leave --key-pair out"
		}
		return doctor.Failed(fmt.Sprintf("there is no key pair %q in %s", c.Spec.KeyPair, c.Spec.Region), needed, fix)
	}
	return doctor.Passed("%s", c.Spec.KeyPair)
}

// diskKey reports the key that encrypts the disks. The check of permissions covers its use by the
// caller and the roles; the key policy is not checked.
func (c *checker) diskKey(context.Context) doctor.Result {
	switch keys := c.Known.DiskKeys(); {
	case len(keys) > 0:
		return doctor.Passed("customer managed key %s; its key policy must admit the account's users and roles, which is not checked", keys[0])
	case c.Known.DiskKey == "" || c.Known.DiskKey == "alias/aws/ebs":
		return doctor.Passed("AWS managed key")
	}
	return doctor.Unsure(
		"disks are encrypted with "+c.Known.DiskKey, "a key given by its ARN, so that roles can be granted its use",
		"name the key itself with `aws ec2 modify-ebs-default-kms-key-id`, or machines may end with Client.InternalError",
	)
}
