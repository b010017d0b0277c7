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
	"github.com/det-deploy/det-deploy/cloud/aws/infra"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Checks lists what has to hold before anything is changed.
func (t *Target) Checks() []doctor.Check {
	c := &checks{Target: t, facts: facts.Facts{Clients: t.Clients}}
	out := []doctor.Check{
		{Name: "identity", Look: c.identity},
		{Name: "clock", Look: c.clock},
		{Name: "permissions", Look: c.permissions},
	}
	out = append(out, t.Cluster.Checks()...)
	out = append(out, []doctor.Check{
		{Name: "names", Look: c.names},
		{Name: "configuration", Look: func(context.Context) doctor.Result { return c.CheckConfiguration(c.imagined()) }},
		{Name: "instance types", Look: c.types},
		{Name: "images", Look: c.images},
		{Name: "GPU drivers", Look: c.drivers},
		{Name: "disk encryption", Look: c.diskKey},
		{Name: "quotas", Look: c.quotas},
		{Name: "network", Look: c.network},
	}...)
	if t.Spec.Network.Own() && !t.Spec.Network.PublicIP {
		out = append(out, doctor.Check{Name: "agents' way out", Look: c.agentsWayOut})
	}
	if t.Spec.Network.MasterSecurityGroup != "" || t.Spec.Network.AgentSecurityGroup != "" {
		out = append(out, doctor.Check{Name: "security groups", Look: c.groups})
	}
	if t.Spec.KeyPair != "" {
		out = append(out, doctor.Check{Name: "key pair", Look: c.keyPair})
	}
	if t.spot() {
		out = append(out, doctor.Check{Name: "spot", Look: c.spot})
	}
	return append(out, c.brought()...)
}

// checks is what the checks have in common.
type checks struct {
	*Target

	facts facts.Facts
}

func (c *checks) identity(context.Context) doctor.Result {
	if c.Caller.Partition != "aws" {
		return hosted.Fail(c.Caller.ARN, "an account of the commercial partition", "use another account; other partitions are not built yet")
	}
	return hosted.Pass("%s in account %s", c.Caller.ARN, c.Caller.Account)
}

func (c *checks) clock(ctx context.Context) doctor.Result {
	const needed = "a clock that is right to 5 minutes: Amazon refuses what is signed at another time"
	out, err := c.Clients.STS.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return hosted.Failed(err, needed)
	}
	theirs, ok := middleware.GetServerTime(out.ResultMetadata)
	if !ok {
		return hosted.Unsure("Amazon's answer has no time", needed, "")
	}
	return c.CheckClock(theirs, "Amazon", needed)
}

func (c *checks) names(ctx context.Context) doctor.Result {
	const needed = "names within what S3 and IAM take"
	fix := "choose another --cluster-id"
	// S3's limit; IAM's for roles is 64.
	for _, name := range []string{ControlBucket(c.Spec.Cluster, c.Caller.Account), infra.DataBucket(c.Spec.Cluster, c.Caller.Account)} {
		if len(name) > 63 {
			return hosted.Fail(fmt.Sprintf("bucket %s has %d characters, S3 takes 63", name, len(name)), needed, fix)
		}
	}
	_, err := c.store.Get(ctx, "record.json")
	switch cloud.KindOf(err) {
	case cloud.Denied:
		return hosted.Fail("bucket "+c.store.Name+" cannot be read; it may belong to another account", needed, fix+", or ask its owner")
	case "":
		return hosted.Pass("bucket %s is this cluster's", c.store.Name)
	case cloud.NotFound:
		return hosted.Pass("bucket %s", c.store.Name)
	default:
		return hosted.Failed(err, needed)
	}
}

// masterMemory is the least MiB with which a master and its database run.
const masterMemory = 4096

// types compares what is wanted with what is offered where.
func (c *checks) types(ctx context.Context) doctor.Result {
	var wrong, odd []string
	zone := c.Known.Master.Zone
	if t := c.Known.Types[c.Spec.Master.InstanceType]; !slices.Contains(t.Zones, zone) {
		wrong = append(wrong, fmt.Sprintf("%s is not offered in %s, where the master is to be", c.Spec.Master.InstanceType, zone))
	} else if t.VCPU < 2 {
		odd = append(odd, fmt.Sprintf("%s has %d vCPU", c.Spec.Master.InstanceType, t.VCPU))
	}
	if m := c.Known.Types[c.Spec.Master.InstanceType].Memory; m > 0 && m < masterMemory {
		small := fmt.Sprintf("%s has %d MB of memory, and a master needs %d", c.Spec.Master.InstanceType, m, masterMemory)
		if c.Exists(ctx) {
			odd = append(odd, small)
		} else {
			wrong = append(wrong, small)
		}
	}
	for name, p := range c.Spec.AllPools() {
		w, o := c.poolTypes(name, p)
		wrong, odd = append(wrong, w...), append(odd, o...)
	}
	slices.Sort(wrong)
	slices.Sort(odd)
	const needed = "instance types that are offered where the machines are to be, with the same slots within a pool"
	switch {
	case len(wrong) > 0:
		return hosted.Fail(strings.Join(wrong, "; "), needed, "choose others with --instance-type, --aux-instance-type or --master-instance-type, or other zones with --zone")
	case len(odd) > 0:
		return hosted.Unsure(strings.Join(odd, "; "), needed, "")
	}
	return hosted.Pass("%s", strings.Join(AllTypes(c.Spec), ", "))
}

func (c *checks) poolTypes(name string, p spec.AWSPool) (wrong, odd []string) {
	slots := c.slots(p)
	for _, it := range p.InstanceTypes {
		t, known := c.Known.Types[it]
		if !known {
			wrong = append(wrong, fmt.Sprintf("pool %s: there is no type %s", name, it))
			continue
		}
		if !slices.ContainsFunc(c.poolZones(p), func(z string) bool { return slices.Contains(t.Zones, z) }) {
			wrong = append(wrong, fmt.Sprintf("pool %s: %s is offered in none of its zones", name, it))
		}
		if p.Slots == nil && t.GPUs != slots {
			wrong = append(wrong, fmt.Sprintf("pool %s: %s has %d GPUs, %s has %d", name, it, t.GPUs, p.InstanceTypes[0], slots))
		}
	}
	if name != spec.AuxPool && slots == 0 && !p.CPUSlots {
		odd = append(odd, fmt.Sprintf("pool %s: %s has no GPU, so tasks with slots do not run there; --cpu-slots gives it one", name, p.InstanceTypes[0]))
	}
	return wrong, odd
}

func (c *checks) keyPair(ctx context.Context) doctor.Result {
	const needed = "a key pair of this region"
	names, err := c.facts.KeyPairs(ctx)
	if err != nil {
		return hosted.Failed(err, needed)
	}
	if !slices.Contains(names, c.Spec.KeyPair) {
		fix := "choose one with --key-pair: " + strings.Join(names, ", ")
		if len(names) == 0 {
			fix = "make one with `aws ec2 create-key-pair`, or leave --key-pair out"
		}
		return hosted.Fail(fmt.Sprintf("there is no key pair %q in %s", c.Spec.KeyPair, c.Spec.Region), needed, fix)
	}
	return hosted.Pass("%s", c.Spec.KeyPair)
}

func (t *Target) spot() bool {
	for _, p := range t.Spec.AllPools() {
		if p.Spot {
			return true
		}
	}
	return false
}
