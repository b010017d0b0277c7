package infra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// lister lists what belongs to a cluster, of one kind.
type lister struct {
	kind string
	list func(context.Context, *Cluster) ([]resource.Found, error)
}

// listers is one way of asking a kind. The tagging service would be one call
// for most, but knows no addresses and nothing of IAM's.
func listers() []lister {
	return []lister{
		{KindLogGroup, logGroups},
		{KindSecret, secrets},
		{KindBucket, buckets},
		{KindSnapshot, snapshots().inventory},
		{KindVolume, volumes().inventory},
		{KindRole, roles},
		{KindProfile, profiles},
		{KindVPC, vpcs().inventory},
		{KindGateway, gateways().inventory},
		{KindSubnet, subnets().inventory},
		{KindGroup, groups().inventory},
		{KindRoutes, routeTables().inventory},
		{KindEndpoint, endpoints().inventory},
		{KindRules, openGroups},
		{KindAddress, addresses().inventory},
		{KindInterface, interfaces().inventory},
		{KindAgent, agents().inventory},
		{KindSpotRequest, spotRequests().inventory},
		{KindInstance, masters().inventory},
		{KindAssociation, leadingAddresses},
		{KindAttachment, attachedVolumes},
	}
}

// Inventory lists everything that carries the mark of a cluster. The kinds are
// asked side by side: there are twenty, and each is a call at least.
func (c *Cluster) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	of := *c
	of.ID = cluster
	all := listers()
	found := make([][]resource.Found, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() {
			var err error
			if found[i], err = l.list(ctx, &of); err != nil {
				errs[i] = fmt.Errorf("list each %s: %w", l.kind, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return c.openSecrets(slices.Concat(found...)), nil
}

// openSecrets lets go of secrets that open nothing any more: they live as long
// as the data of the cluster's own. Those that open data of the user's stay, and
// those of which that is not known.
func (c *Cluster) openSecrets(fs []resource.Found) []resource.Found {
	if slices.ContainsFunc(fs, func(f resource.Found) bool { return f.Retain != "" && f.Kind != KindSecret && f.Kind != KindLogGroup }) {
		return fs
	}
	why := ""
	if c.Unread {
		why = retainMayOpen
	}
	for i, f := range fs {
		if f.Kind == KindSecret && f.Retain == retainOpensData {
			fs[i].Retain = why
		}
	}
	return fs
}
