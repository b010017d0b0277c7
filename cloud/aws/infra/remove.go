package infra

import (
	"context"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Remove deletes one object of the inventory. What holds it up and is on its way
// out is waited for. That it is gone already is fine.
func (c *Cluster) Remove(ctx context.Context, f resource.Found) error {
	by := map[string]func(context.Context, string) error{
		KindLogGroup:    c.deleteLogGroup,
		KindSecret:      c.deleteSecret,
		KindBucket:      c.deleteBucket,
		KindSnapshot:    c.deleteSnapshot,
		KindVolume:      c.deleteVolume,
		KindRole:        c.deleteRole,
		KindProfile:     c.deleteProfile,
		KindVPC:         c.deleteVPC,
		KindGateway:     c.deleteGateway,
		KindSubnet:      c.deleteSubnet,
		KindGroup:       c.deleteGroup,
		KindRoutes:      c.deleteRoutes,
		KindEndpoint:    c.deleteEndpoint,
		KindRules:       c.deleteRules,
		KindAddress:     c.deleteAddress,
		KindInterface:   c.deleteInterface,
		KindAgent:       func(ctx context.Context, id string) error { return c.endMachine(ctx, id, false) },
		KindSpotRequest: c.cancelSpot,
		KindInstance:    func(ctx context.Context, id string) error { return c.endMachine(ctx, id, true) },
		KindAssociation: c.deleteAssociation,
		KindAttachment:  c.detach,
	}
	remove, ok := by[f.Kind]
	if !ok {
		return fmt.Errorf("remove %s: this program knows no %s on AWS", f, f.Kind)
	}
	return remove(ctx, f.ID)
}
