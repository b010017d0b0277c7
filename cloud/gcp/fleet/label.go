package fleet

import (
	"maps"
	"net/url"
	"slices"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
)

// The labels of all instances and boot disks besides the pool's. An instance belongs to the cluster
// and pool if it has the first two.
const (
	LabelCluster = mark.ClusterLabel
	LabelPool    = "det-deploy-pool"
	// LabelLaunch identifies the launch.
	LabelLaunch = "det-deploy-launch"
	// LabelAgents is the label_key that `det-deploy gcp up` configures. Its value is the cluster
	// ID, as in the other labels of the cluster.
	LabelAgents = "det-deploy-agents"
	// The labels of Determined 0.38.1.
	labelOldHost = "determined-master-host"
	labelOldPort = "determined-master-port"
	labelOldPool = "determined-resource-pool"
)

// allLabels returns all labels of an instance.
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

// isOurs checks the labels again, because the filter of a list may be inexact.
func (f *Fleet) isOurs(i *compute.Instance) bool {
	return i.Labels[LabelCluster] == f.cfg.Cluster && i.Labels[LabelPool] == encodeLabel(f.cfg.Pool)
}

// filter returns the list filter for the pool's instances. Google requires parentheses around each
// of several expressions.
func (f *Fleet) filter() string {
	return "(labels." + LabelCluster + "=" + f.cfg.Cluster + ") AND (labels." + LabelPool + "=" + encodeLabel(f.cfg.Pool) + ")"
}

// The metadata of all instances besides that of base_config.
const (
	keyScript    = "startup-script"
	keyOldMaster = "determined-master-address"
	// keyPool and keyToken hold the unabridged pool and launch token, keyType the machine type with
	// its GPUs.
	keyPool  = "det-deploy-pool"
	keyToken = "det-deploy-launch"
	keyType  = "det-deploy-type"
	// keyGuest enables guest attributes, with which an instance without a service account proves
	// its identity.
	keyGuest = "enable-guest-attributes"
)

// mergeMetadata returns the metadata of an instance: det-deploy's, followed by that of base_config.
func (f *Fleet) mergeMetadata(l cloud.Launch) *compute.Metadata {
	m := new(compute.Metadata)
	own := []Label{
		{keyScript, f.cfg.StartupScript},
		{keyOldMaster, hostPort(f.cfg.MasterURL)},
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

// hostPort returns the host and port of a URL: "10.0.0.1:8443".
func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	return u.Host
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
