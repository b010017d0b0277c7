package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
)

const (
	// usageLimit is how long it may take to look where the account has machines: who
	// waits for a question has not asked for it.
	usageLimit = 4 * time.Second
	// usageLooks is how many regions are asked side by side.
	usageLooks = 8
)

// regionUse is what an account has in a region.
type regionUse struct {
	clusters []string
	machines int
}

// Regions lists the regions that the account may use: first those with clusters, then
// those with machines, each by name.
func (a Advice) Regions(ctx context.Context, profile string) ([]term.Choice, error) {
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
	return byUse(names, uses), nil
}

// machinesIn counts machines by region. What cannot be asked in time has none: the list
// is the same, in another order.
func machinesIn(ctx context.Context, regions []string, count func(context.Context, string) (int, error)) map[string]regionUse {
	out := make(map[string]regionUse, len(regions))
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
			out[r] = regionUse{machines: n}
		})
	}
	all.Wait()
	return out
}

// addClusters adds the clusters of the account, as their control buckets tell.
func (a Advice) addClusters(ctx context.Context, uses map[string]regionUse) {
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
			use.clusters = append(use.clusters, id)
			uses[where] = use
		}
	}
}

// byUse is pure.
func byUse(regions []string, uses map[string]regionUse) []term.Choice {
	sorted := slices.Clone(regions)
	slices.SortFunc(sorted, func(a, b string) int {
		x, y := uses[a], uses[b]
		return cmp.Or(cmp.Compare(len(y.clusters), len(x.clusters)), cmp.Compare(y.machines, x.machines), cmp.Compare(a, b))
	})
	out := make([]term.Choice, len(sorted))
	for i, r := range sorted {
		out[i] = term.Choice{Value: r, About: uses[r].String()}
	}
	return out
}

// String reads "cluster lab, 3 machines".
func (u regionUse) String() string {
	var out []string
	switch len(u.clusters) {
	case 0:
	case 1:
		out = append(out, "cluster "+u.clusters[0])
	default:
		out = append(out, fmt.Sprintf("%d clusters", len(u.clusters)))
	}
	switch {
	case u.machines == 1:
		out = append(out, "1 machine")
	case u.machines > 1:
		out = append(out, fmt.Sprintf("%d machines", u.machines))
	}
	return strings.Join(out, ", ")
}
