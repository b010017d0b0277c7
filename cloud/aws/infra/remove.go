package infra

import (
	"context"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Remove deletes one object of the inventory. What holds it up and is on its way
// out is waited for. That it is gone already is fine.
func (t Target) Remove(ctx context.Context, f resource.Found) error {
	all := resourceKinds(t.Cluster)
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == f.Kind })
	if i < 0 {
		return fmt.Errorf("remove %s: this program knows no %s on AWS", f, f.Kind)
	}
	return all[i].remove(ctx, f.ID)
}
