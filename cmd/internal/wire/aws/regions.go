package aws

import (
	"context"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
)

const (
	// usageLimit is the time limit for finding the regions with machines. It is short because the user
	// waits for the form meanwhile.
	usageLimit = 4 * time.Second
	// usageLooks is the maximum number of regions queried concurrently.
	usageLooks = 8
)

// KnownRegions returns the regions of AWS whose place is known, each with the place after a tab.
func KnownRegions() []string { return facts.Known() }

// Regions lists the regions enabled for the account: preferred first, then those with clusters, then those
// with machines, each sorted by name.
func (a Advice) Regions(ctx context.Context, profile, preferred string) ([]term.Choice, error) {
	names, err := a.facts.Regions(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, usageLimit)
	defer cancel()
	uses := machinesIn(ctx, names, func(ctx context.Context, region string) (int, error) {
		c, err := api.Open(ctx, api.Options{Region: region, Profile: profile})
		if err != nil {
			return 0, err
		}
		running, err := facts.Facts{Clients: c}.Running(ctx)
		return len(running), err
	})
	a.addClusters(ctx, uses)
	return wire.Regions{Names: names, Uses: uses, Preferred: preferred, Place: facts.PlaceOf}.Choices(), nil
}

// machinesIn counts the machines in each region. A region that does not answer in time counts none, which
// affects only the order of the list.
func machinesIn(ctx context.Context, regions []string, count func(context.Context, string) (int, error)) map[string]wire.RegionUse {
	out := make(map[string]wire.RegionUse, len(regions))
	var mu sync.Mutex
	var all sync.WaitGroup
	places := make(chan struct{}, usageLooks)
	for _, r := range regions {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			n, err := count(ctx, r)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			out[r] = wire.RegionUse{Machines: n}
		})
	}
	all.Wait()
	return out
}

// addClusters adds the clusters of the account, which it finds by their control buckets.
func (a Advice) addClusters(ctx context.Context, uses map[string]wire.RegionUse) {
	who, err := a.facts.Caller(ctx)
	if err != nil {
		return
	}
	names, err := listBuckets(ctx, a.facts.Clients)
	if err != nil {
		return
	}
	for _, name := range names {
		id, ours := control.ClusterOf(name, who.Account)
		if !ours {
			continue
		}
		if where, err := bucketRegion(ctx, a.facts.Clients, name); err == nil {
			use := uses[where]
			use.Clusters = append(use.Clusters, id)
			uses[where] = use
		}
	}
}
