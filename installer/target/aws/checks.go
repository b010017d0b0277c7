package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
)

// Checks lists what has to hold before anything is changed.
func (t *Target) Checks() []doctor.Check {
	c := &checks{Target: t, facts: facts.Facts{Clients: t.Clients}}
	out := []doctor.Check{
		{Name: "identity", Look: c.checkIdentity},
		{Name: "clock", Look: c.checkClock},
		{Name: "permissions", Look: c.checkPermissions},
	}
	out = append(out, t.Cluster.Checks()...)
	out = append(out, []doctor.Check{
		{Name: "names", Look: c.checkNames},
		{Name: "configuration", Look: func(context.Context) doctor.Result { return c.CheckConfiguration(c.placeholderLive()) }},
		{Name: "instance types", Look: c.checkTypes},
		{Name: "images", Look: c.checkImages},
		{Name: "GPU drivers", Look: c.checkDrivers},
		{Name: "disk encryption", Look: c.diskKey},
		{Name: "quotas", Look: c.checkQuotas},
		{Name: "network", Look: c.checkNetwork},
	}...)
	if t.Spec.Network.Own() && !t.Spec.Network.PublicIP {
		out = append(out, doctor.Check{Name: "agents' way out", Look: c.agentsWayOut})
	}
	if t.Spec.Network.MasterSecurityGroup != "" || t.Spec.Network.AgentSecurityGroup != "" {
		out = append(out, doctor.Check{Name: "security groups", Look: c.checkSecurityGroups})
	}
	if t.Spec.KeyPair != "" {
		out = append(out, doctor.Check{Name: "key pair", Look: c.keyPair})
	}
	if t.usesSpot() {
		out = append(out, doctor.Check{Name: "spot", Look: c.checkSpot})
	}
	return append(out, c.existingChecks()...)
}

// checks is what the checks have in common.
type checks struct {
	*Target

	facts facts.Facts
}

func (c *checks) checkIdentity(context.Context) doctor.Result {
	if c.Caller.Partition != "aws" {
		return doctor.Failed(c.Caller.ARN, "an account of the commercial partition", "use another account; other partitions are not built yet")
	}
	return doctor.Passed("%s in account %s", c.Caller.ARN, c.Caller.Account)
}

func (c *checks) checkClock(ctx context.Context) doctor.Result {
	const needed = "a clock that is right to 5 minutes: Amazon refuses what is signed at another time"
	out, err := c.Clients.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return doctor.FromError(err, needed)
	}
	theirs, ok := middleware.GetServerTime(out.ResultMetadata)
	if !ok {
		return doctor.Unsure("Amazon's answer has no time", needed, "")
	}
	return doctor.Clock(c.Now(), theirs, "Amazon", needed)
}

func (c *checks) checkNames(ctx context.Context) doctor.Result {
	const needed = "names within what S3 and IAM take"
	fix := "choose another --cluster-id"
	// S3's limit; IAM's for roles is 64.
	for _, name := range []string{control.Name(c.Spec.Cluster, c.Caller.Account), storage.DataBucket(c.Spec.Cluster, c.Caller.Account)} {
		if len(name) > 63 {
			return doctor.Failed(fmt.Sprintf("bucket %s has %d characters, S3 takes 63", name, len(name)), needed, fix)
		}
	}
	_, err := c.store.Get(ctx, "record.json")
	switch cloud.KindOf(err) {
	case cloud.Denied:
		return doctor.Failed("bucket "+c.store.Name+" cannot be read; it may belong to another account", needed, fix+", or ask its owner")
	case "":
		return doctor.Passed("bucket %s is this cluster's", c.store.Name)
	case cloud.NotFound:
		return doctor.Passed("bucket %s", c.store.Name)
	default:
		return doctor.FromError(err, needed)
	}
}

// checkTypes compares the wanted instance types with those offered in each zone.
func (c *checks) checkTypes(ctx context.Context) doctor.Result {
	w := machines.Wanted{
		Types: c.Known.Types, Master: c.Spec.Master.InstanceType, MasterZone: c.Known.Master.Zone,
		Pools: map[string]machines.Pool{}, Exists: c.Exists,
	}
	for name, p := range c.Spec.AllPools() {
		w.Pools[name] = machines.Pool{Types: p.InstanceTypes, Zones: c.poolZones(p), Slots: c.slotsOf(p), Given: p.Slots != nil, CPUSlots: p.CPUSlots}
	}
	return w.Check(ctx)
}

func (c *checks) keyPair(ctx context.Context) doctor.Result {
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

func (t *Target) usesSpot() bool {
	for _, p := range t.Spec.AllPools() {
		if p.Spot {
			return true
		}
	}
	return false
}
