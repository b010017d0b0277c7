package aws

import (
	"cmp"
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/provider"
)

// agentTag marks the machines that the master launches, in addition to the cluster's tag.
const agentTag = "det-deploy-agents"

// named holds the IDs assigned by AWS that master.yaml refers to.
type named struct {
	// subnets maps the names in the spec, zones or subnets, to subnet IDs.
	subnets             map[string]string
	agentGroup, profile string
}

// liveIDs returns the AWS IDs of the objects that master.yaml mentions.
func (b *blueprint) liveIDs() (hosted.Live, bool, error) {
	n := named{subnets: make(map[string]string), agentGroup: b.agents.Identity(), profile: b.agent.ARN()}
	complete := n.agentGroup != "" && n.profile != ""
	for name, ref := range b.subnets {
		n.subnets[name] = ref.Identity()
		complete = complete && ref.Identity() != ""
	}
	if !complete {
		return hosted.Live{}, false, nil
	}
	l, err := b.liveOf(n)
	return l, true, err
}

// placeholderLive returns stand-ins for IDs that AWS has not assigned yet.
func (t *Target) placeholderLive() (hosted.Live, error) {
	n := named{
		subnets: make(map[string]string), agentGroup: "sg-00000000000000000",
		profile: "arn:aws:iam::" + t.Caller.Account + ":instance-profile/imagined",
	}
	for _, name := range slices.Concat(t.Known.Used(), t.ExistingSubnets()) {
		n.subnets[name] = "subnet-00000000000000000"
	}
	return t.liveOf(n)
}

func (t *Target) liveOf(n named) (hosted.Live, error) {
	s := t.Spec.Storage
	l := hosted.Live{Storage: config.CheckpointStorage{S3: &config.S3Storage{Saved: s.Saved, Bucket: t.dataBucket(), Prefix: s.Prefix}}, Zones: map[string][]string{}}
	pools := t.Spec.AllPools()
	for _, name := range slices.Sorted(maps.Keys(pools)) {
		pool, err := t.poolConfig(name, pools[name], n)
		if err != nil {
			return hosted.Live{}, err
		}
		l.Pools = append(l.Pools, pool)
		l.Zones[name] = t.PoolZones(pools[name])
	}
	return l, nil
}

func (t *Target) poolConfig(name string, p spec.AWSPool, n named) (config.Pool, error) {
	out := t.NewPool(name, p.Pool)
	aws := &provider.AWS{}
	aws.SetDefaults()
	elastic, err := t.NewElastic(p.Pool)
	if err != nil {
		return config.Pool{}, err
	}
	aws.Elastic = elastic
	aws.Region = t.Spec.Region
	aws.RootVolumeSize = cmp.Or(p.RootVolume, t.Spec.Agents.RootVolume)
	aws.ImageID = t.AgentImage(p)
	aws.RootDeviceName = t.Known.Roots[aws.ImageID]
	aws.TagKey, aws.TagValue = agentTag, t.Spec.Cluster
	aws.InstanceName = "det-" + t.Spec.Cluster + "-agent"
	aws.SSHKeyName = t.Spec.KeyPair
	aws.NetworkInterface = provider.AWSNetwork{PublicIP: t.Spec.Network.PublicIP, SecurityGroupID: n.agentGroup}
	for _, s := range t.PoolPlaces(p) {
		aws.Subnets = append(aws.Subnets, n.subnets[s])
	}
	aws.IAMInstanceProfileARN = n.profile
	aws.InstanceType, aws.InstanceTypes = p.InstanceTypes[0], nil
	if len(p.InstanceTypes) > 1 {
		aws.InstanceTypes = p.InstanceTypes
	}
	slots := t.SlotsOf(p)
	aws.InstanceSlots = &slots
	aws.CPUSlotsAllowed = p.CPUSlots
	aws.Spot = provider.Spot{Enabled: p.Spot, FallbackToOnDemand: p.FallbackToOnDemand, MaxPrice: p.MaxPrice}
	aws.LogGroup, aws.Metrics = t.logGroup(), &t.Spec.Metrics
	for _, key := range slices.Sorted(maps.Keys(t.Spec.Tags)) {
		aws.CustomTags = append(aws.CustomTags, provider.Tag{Key: key, Value: t.Spec.Tags[key]})
	}
	out.Provider = &provider.Provider{AWS: aws}
	return out, nil
}
