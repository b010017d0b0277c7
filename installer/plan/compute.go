package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// looks is how many objects are looked at side by side. It stays below the
// burst that the strictest platform grants a new account (EC2: 20 describe
// calls at once).
const looks = 16

// Request is what to plan.
type Request struct {
	Cluster string
	// Wanted is everything that should exist.
	Wanted []resource.Resource
	// Target lists what exists.
	Target resource.Target
	// Down plans the removal of everything: Wanted is looked at by name, for
	// what a list does not show yet, and goes with the rest.
	Down bool
	// DeleteData plans the removal of what is otherwise retained.
	DeleteData bool
}

// Compute looks at everything and returns what is to be done. The same world
// gives the same plan. Every complaint met while looking is joined.
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

// surveyAll looks at the wanted resources and lists the existing objects, concurrently.
func surveyAll(ctx context.Context, wanted []resource.Resource, req Request) (seen []sighting, inventory []resource.Found, err error) {
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

// sighting is one wanted resource and what was found of it.
type sighting struct {
	resource resource.Resource
	found    resource.Found
	drift    []resource.Drift
}

func lookAtAll(ctx context.Context, wanted []resource.Resource) ([]sighting, error) {
	seen := make([]sighting, len(wanted))
	errs := Walk(ctx, nodesOf(wanted), looks, func(ctx context.Context, i int) error {
		found, drift, err := wanted[i].Find(ctx)
		if err != nil {
			return fmt.Errorf("look at %s: %w", wanted[i].ID(), err)
		}
		seen[i] = sighting{wanted[i], found, drift}
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
func unwantedFound(inventory []resource.Found, seen []sighting) []resource.Found {
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

// dropRepeated drops what does not exist and what was listed before.
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
