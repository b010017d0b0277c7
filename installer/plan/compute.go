package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// parallelReads is the number of objects to read concurrently. It is below the burst that the strictest
// platform allows a new account (EC2: 20 describe calls at once).
const parallelReads = 16

// Request is the input of Compute.
type Request struct {
	Cluster string
	// Wanted lists the resources that should exist.
	Wanted []resource.Resource
	// Target lists the existing objects.
	Target resource.Target
	// Down plans the deletion of everything. Wanted is then looked up by name, to find objects that
	// lists do not show yet.
	Down bool
	// DeleteData includes the deletion of retained data.
	DeleteData bool
}

// Compute reads the current state and returns the plan. The same state always gives the same plan.
// It returns all errors joined.
func Compute(ctx context.Context, req Request) (Plan, error) {
	wanted, err := sortByNeeds(req.Wanted)
	if err != nil {
		return Plan{}, err
	}
	seen, inventory, err := surveyAll(ctx, wanted, req)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Cluster: req.Cluster}
	if req.Down {
		for _, s := range seen {
			if !s.found.Shared {
				inventory = append(inventory, s.found)
			}
		}
		p.Steps = planRemovals(dropRepeated(inventory), req, nil)
		return p, nil
	}
	p.Steps = closeDrift(seen, req.DeleteData)
	p.Steps = append(p.Steps, planRemovals(unwantedFound(inventory, seen), req, p.Steps)...)
	return p, nil
}

// surveyAll reads the wanted resources and lists the existing objects, concurrently.
func surveyAll(ctx context.Context, wanted []resource.Resource, req Request) (seen []observedResource, inventory []resource.Found, err error) {
	var lookErr, listErr error
	var both sync.WaitGroup
	both.Go(func() { seen, lookErr = lookAtAll(ctx, wanted) })
	both.Go(func() { inventory, listErr = req.Target.Inventory(ctx, req.Cluster) })
	both.Wait()
	if listErr != nil {
		listErr = fmt.Errorf("list what belongs to cluster %s: %w", req.Cluster, listErr)
	}
	return seen, inventory, errors.Join(lookErr, listErr)
}

// observedResource is a wanted resource and its current state.
type observedResource struct {
	resource resource.Resource
	found    resource.Found
	drift    []resource.Drift
}

func lookAtAll(ctx context.Context, wanted []resource.Resource) ([]observedResource, error) {
	seen := make([]observedResource, len(wanted))
	errs := Walk(ctx, nodesOf(wanted), parallelReads, func(ctx context.Context, i int) error {
		found, drift, err := wanted[i].Find(ctx)
		if err != nil {
			return fmt.Errorf("read %s: %w", wanted[i].ID(), err)
		}
		seen[i] = observedResource{wanted[i], found, drift}
		return nil
	})
	var real []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, ErrNotTried) {
			real = append(real, err)
		}
	}
	if len(real) == 0 {
		return seen, ctx.Err()
	}
	return nil, errors.Join(real...)
}

func nodesOf(rs []resource.Resource) []Node {
	nodes := make([]Node, len(rs))
	for i, r := range rs {
		nodes[i] = Node{ID: r.ID(), Needs: r.Needs()}
	}
	return nodes
}

// unwantedFound returns the objects of the inventory that belong to no wanted resource.
func unwantedFound(inventory []resource.Found, seen []observedResource) []resource.Found {
	ours := make(map[string]bool, len(seen))
	for _, s := range seen {
		if s.found.Exists() {
			ours[s.found.Key()] = true
		}
	}
	var out []resource.Found
	for _, f := range dropRepeated(inventory) {
		if !ours[f.Key()] {
			out = append(out, f)
		}
	}
	return out
}

// dropRepeated removes missing objects and duplicates.
func dropRepeated(fs []resource.Found) []resource.Found {
	listed := make(map[string]bool, len(fs))
	var out []resource.Found
	for _, f := range fs {
		if f.Exists() && !listed[f.Key()] {
			listed[f.Key()] = true
			out = append(out, f)
		}
	}
	return out
}
