package local

import (
	"context"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cloud/local"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// machines is where the master puts the machines that it launches: processes of
// this one.
func (p Place) machines() string { return filepath.Join(p.data(), "master", "machines") }

// launchedBy lists the machines that the cluster's master has launched. They are
// its own affair, and go with it.
func launchedBy(p Place) ([]resource.Found, error) {
	places, err := local.Found(p.machines())
	if err != nil {
		return nil, refuse("list", "machines", err)
	}
	var out []resource.Found
	for _, m := range places {
		id, err := filepath.Rel(string(p), string(m))
		if err != nil {
			return nil, refuse("list", "machines", err)
		}
		out = append(out, resource.Found{Kind: kindMachine, ID: id, Name: string(m.ID()), Launched: true})
	}
	return out, nil
}

// endMachine ends a machine whose master has stopped, with all that runs on it.
func (t *Target) endMachine(ctx context.Context, id string) error {
	if err := t.Gate.Pass(ctx, "end machine "+filepath.Base(id)); err != nil {
		return err
	}
	return local.End(ctx, local.Place(t.Place.path(id)), t.host().self())
}
