package mark

import (
	"cmp"

	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Found converts an object to the form of the inventory.
func (c *Cluster) Found(kind string, o infra.Observed) resource.Found {
	return resource.Found{
		Kind: kind, ID: o.Identity, Name: cmp.Or(o.Marks[ResourceTag], o.Marks[NameTag]),
		Retain:   c.retainReason(kind, o),
		Launched: kind == KindAgent || kind == KindSpotRequest,
		Nonce:    o.Marks[NonceTag],
	}
}

// retainReason returns the reason why `down` retains an object, or "". A volume that is not a
// resource of the cluster is the root volume of an instance, a blank volume contains no data, and a
// secret without its tag is retained to be safe.
func (c *Cluster) retainReason(kind string, o infra.Observed) string {
	tags := o.Marks
	switch {
	case kind == KindBucket:
		return retainData
	case kind == KindSnapshot && !o.Failed:
		return retainBackup
	case kind == KindVolume && tags[ResourceTag] != "" && !o.Blank:
		return retainVolume
	case kind == KindSecret && tags[RetainTag] != RetainNo:
		return secretRetainReason(cmp.Or(tags[OpensTag], c.Outside))
	case kind == KindLogGroup && tags[RetainTag] == RetainYes:
		return retainLogs
	}
	return ""
}

// secretRetainReason returns the reason to retain a secret: existing data of the user, or the cluster's
// data.
func secretRetainReason(outside string) string {
	if outside == "" {
		return retainOpensData
	}
	return "required by " + outside + ", which is kept"
}

// ReleaseSecrets releases secrets that no retained data requires, unless it is unknown whether they
// belong to data of the user.
func (c *Cluster) ReleaseSecrets(fs []resource.Found) []resource.Found {
	r := infra.Release{Secret: KindSecret, Log: KindLogGroup, OpensData: retainOpensData}
	if c.Unread {
		r.Why = retainMayOpen
	}
	return r.ReleaseSecrets(fs)
}
