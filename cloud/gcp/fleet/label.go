package fleet

import (
	"maps"
	"net/url"
	"slices"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
)

// The labels of every machine and its boot disk, beside the pool's own. A machine is this
// cluster's and this pool's if it has the first two.
const (
	LabelCluster = mark.ClusterLabel
	LabelPool    = "det-deploy-pool"
	// LabelLaunch tells launches apart.
	LabelLaunch = "det-deploy-launch"
	// LabelAgents is the label_key that `det-deploy gcp up` writes. Its value is the
	// cluster's id, as everything else of that cluster is marked.
	LabelAgents = "det-deploy-agents"
	// These are what Determined 0.38.1 writes.
	labelOldHost = "determined-master-host"
	labelOldPort = "determined-master-port"
	labelOldPool = "determined-resource-pool"
)

// allLabels is every label of a machine.
func (c Config) allLabels(base *compute.InstanceProperties, launch string) map[string]string {
	out := make(map[string]string)
	maps.Copy(out, base.Labels)
	maps.Copy(out, c.Labels)
	out[c.Pair.Key] = c.Pair.Value
	out[LabelCluster], out[LabelPool], out[LabelLaunch] = c.Cluster, encodeLabel(c.Pool), launch
	out[labelOldPool] = encodeLabel(c.Pool)
	if u, err := url.Parse(c.MasterURL); err == nil && u.Host != "" {
		out[labelOldHost], out[labelOldPort] = toLabel(u.Hostname()), u.Port()
	}
	return out
}

// isOurs checks the labels again: the filter of a list may not be exact.
func (f *Fleet) isOurs(i *compute.Instance) bool {
	return i.Labels[LabelCluster] == f.cfg.Cluster && i.Labels[LabelPool] == encodeLabel(f.cfg.Pool)
}

// filter selects the pool's machines in a list. Google wants each of several expressions in
// parentheses.
func (f *Fleet) filter() string {
	return "(labels." + LabelCluster + "=" + f.cfg.Cluster + ") AND (labels." + LabelPool + "=" + encodeLabel(f.cfg.Pool) + ")"
}

// The metadata of every machine, beside base_config's.
const (
	keyScript    = "startup-script"
	keyOldMaster = "determined-master-address"
	// keyPool and keyToken are the pool and the launch in full, keyType its machine type
	// with the GPUs.
	keyPool  = "det-deploy-pool"
	keyToken = "det-deploy-launch"
	keyType  = "det-deploy-type"
	// keyGuest lets a machine say something of itself, by which one without a service
	// account proves which it is.
	keyGuest = "enable-guest-attributes"
)

// mergeMetadata is the metadata of a machine: ours, and behind it that of base_config.
func (f *Fleet) mergeMetadata(l cloud.Launch) *compute.Metadata {
	m := new(compute.Metadata)
	own := []Label{
		{keyScript, f.cfg.StartupScript},
		{keyOldMaster, f.cfg.MasterURL},
		{keyPool, f.cfg.Pool},
		{keyToken, l.Token},
		{keyType, l.Offer.Type},
	}
	if len(mergeAccounts(f.cfg, f.base)) == 0 {
		own = append(own, Label{keyGuest, "TRUE"})
	}
	for _, item := range own {
		m.Items = append(m.Items, &compute.MetadataItems{Key: item.Key, Value: &item.Value})
	}
	for _, item := range metadataOf(f.base) {
		if !slices.ContainsFunc(own, func(o Label) bool { return o.Key == item.Key }) {
			m.Items = append(m.Items, item)
		}
	}
	return m
}

func metadataOf(p *compute.InstanceProperties) []*compute.MetadataItems {
	if p.Metadata == nil {
		return nil
	}
	return p.Metadata.Items
}

func metadataValue(i *compute.Instance, key string) string {
	if i.Metadata == nil {
		return ""
	}
	for _, item := range i.Metadata.Items {
		if item.Key == key && item.Value != nil {
			return *item.Value
		}
	}
	return ""
}
