package layout

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
)

// readRoles reads the ARNs of the user's roles: a name does not include the path.
func (r *reader) readRoles(ctx context.Context) error {
	roles := map[string]string{}
	for _, role := range []string{r.Spec.Roles.Master, r.Spec.Roles.Agent} {
		switch {
		case role == "":
		case strings.HasPrefix(role, "arn:"):
			roles[role] = role
		case r.Known.Roles[role] != "":
			roles[role] = r.Known.Roles[role]
		default:
			arn, err := r.facts.RoleARN(ctx, role)
			if err != nil {
				return err
			}
			roles[role] = arn
		}
	}
	r.Known.Roles = roles
	return nil
}

// readDiskKey asks with which KMS key disks are encrypted. Who may not ask keeps what
// was known: Amazon's own key needs no permission.
func (r *reader) readDiskKey(ctx context.Context) error {
	key, err := r.facts.DiskKey(ctx)
	switch cloud.KindOf(err) {
	case "":
		r.Known.DiskKey = key
	case cloud.Denied, cloud.Unknown:
	default:
		return err
	}
	return nil
}

// DiskKeys are the keys that a role which launches machines must be allowed to use:
// none where disks are encrypted with Amazon's own.
func (k Known) DiskKeys() []string {
	if !strings.HasPrefix(k.DiskKey, "arn:") || !strings.Contains(k.DiskKey, ":key/") {
		return nil
	}
	return []string{k.DiskKey}
}
