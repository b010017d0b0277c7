package layout

import (
	"cmp"
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
)

// readRoles reads the ARNs of existing roles, because a role's name does not include its path.
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

// readProfiles reads the roles of existing instance profiles, anew each time because they may change.
func (r *reader) readProfiles(ctx context.Context) error {
	profiles := map[string]facts.InstanceProfile{}
	for _, name := range []string{r.Spec.Roles.MasterProfile, r.Spec.Roles.AgentProfile} {
		if name == "" {
			continue
		}
		p, err := r.facts.InstanceProfile(ctx, name)
		if err != nil {
			return err
		}
		profiles[name] = p
	}
	r.Known.Profiles = profiles
	return nil
}

// MasterRole returns the ARN of the master's existing role, or "".
func (l Layout) MasterRole() string {
	return l.existingRole(l.Spec.Roles.Master, l.Spec.Roles.MasterProfile)
}

// AgentRole returns the ARN of the agents' existing role, or "".
func (l Layout) AgentRole() string {
	return l.existingRole(l.Spec.Roles.Agent, l.Spec.Roles.AgentProfile)
}

func (l Layout) existingRole(role, profile string) string {
	return cmp.Or(l.Known.Roles[role], l.Known.Profiles[profile].Role)
}

// readDiskKey reads the KMS key that encrypts disks. If the caller may not read it, the recorded
// key stays; the AWS managed key needs no permission.
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

// DiskKeys returns the keys that a launching role must be allowed to use. It is empty if disks are
// encrypted with the AWS managed key.
func (k Known) DiskKeys() []string {
	if !strings.HasPrefix(k.DiskKey, "arn:") || !strings.Contains(k.DiskKey, ":key/") {
		return nil
	}
	return []string{k.DiskKey}
}
