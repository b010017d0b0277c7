package mark

import (
	"cmp"

	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Found is how the inventory lists an object.
func (c *Cluster) Found(kind string, o infra.Observed) resource.Found {
	return resource.Found{
		Kind: kind, ID: o.Identity, Name: cmp.Or(o.Marks[ResourceTag], o.Marks[NameTag]),
		Retain:   c.retainReason(kind, o),
		Launched: kind == KindAgent || kind == KindSpotRequest,
		Nonce:    o.Marks[NonceTag],
	}
}

// retainReason says why an object outlives `down`. A volume that is not one of the
// cluster's resources is some machine's own disk, a blank one holds nothing, and a secret
// whose tag was lost rather stays than goes.
func (c *Cluster) retainReason(kind string, o infra.Observed) string {
	tags := o.Marks
	switch {
	case kind == KindBucket:
		return retainData
	case kind == KindSnapshot:
		return retainBackup
	case kind == KindVolume && tags[ResourceTag] != "" && !o.Blank:
		return retainVolume
	case kind == KindSecret && tags[RetainTag] != RetainNo:
		return opensWhat(cmp.Or(tags[OpensTag], c.Outside))
	case kind == KindLogGroup && tags[RetainTag] == RetainYes:
		return retainLogs
	}
	return ""
}

// opensWhat says what a secret is kept for: data of the user's own, or the cluster's.
func opensWhat(outside string) string {
	if outside == "" {
		return retainOpensData
	}
	return "opens " + outside + ", which stays"
}

// ReleaseSecrets lets go of secrets that open nothing any more, unless it is not known
// whether they open data of the user's.
func (c *Cluster) ReleaseSecrets(fs []resource.Found) []resource.Found {
	r := infra.Release{Secret: KindSecret, Log: KindLogGroup, OpensData: retainOpensData}
	if c.Unread {
		r.Why = retainMayOpen
	}
	return r.ReleaseSecrets(fs)
}
