package command

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// FindPool returns a resource pool by name.
func FindPool(ctx context.Context, master *client.Client, name string) (*apiv1.ResourcePool, error) {
	pools, err := master.Pools(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range pools {
		if p.GetName() == name {
			return p, nil
		}
	}
	return nil, &missingPoolError{name}
}

// CheckPools returns an error if a resource pool does not exist. A list that found nothing in the pools of a
// flag calls it; one that found something need not, as it may be about pools that were removed.
func CheckPools(ctx context.Context, master *client.Client, names ...string) error {
	for _, name := range names {
		if name == "" {
			continue
		}
		if _, err := FindPool(ctx, master, name); err != nil {
			return err
		}
	}
	return nil
}

// missingPoolError reports a resource pool that does not exist.
type missingPoolError struct{ name string }

func (e *missingPoolError) Error() string { return fmt.Sprintf("there is no resource pool %q", e.name) }

// Hint implements the second line of an error.
func (e *missingPoolError) Hint() string { return "det-deploy pool list" }
