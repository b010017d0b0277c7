package aws

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud/aws/policy"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// Scope is what the cluster's policies are limited to.
func (t *Target) Scope() policy.Scope {
	s := t.Spec
	return policy.Scope{
		Partition: t.Caller.Partition, Account: t.Caller.Account, Region: s.Region, Cluster: s.Cluster,
		DataBucket: s.Storage.Bucket, LogGroup: s.Logs.Group,
		MasterRole: t.Known.Roles[s.Roles.Master], AgentRole: t.Known.Roles[s.Roles.Agent],
		NoSessions: !s.Roles.SessionManager, Volume: s.Master.Volume.ID, Secrets: t.ForeignSecrets(), Keys: t.Known.diskKeys(),
	}
}

// readRoles reads the ARNs of the user's roles: a name does not include the path.
func (l *looking) readRoles(ctx context.Context) error {
	roles := map[string]string{}
	for _, role := range []string{l.Spec.Roles.Master, l.Spec.Roles.Agent} {
		switch {
		case role == "":
		case strings.HasPrefix(role, "arn:"):
			roles[role] = role
		case l.known.Roles[role] != "":
			roles[role] = l.known.Roles[role]
		default:
			out, err := l.Clients.IAM.GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(spec.RoleName(role))})
			if err != nil {
				return fmt.Errorf("look at the existing role %s: %w", role, err)
			}
			roles[role] = aws.ToString(out.Role.Arn)
		}
	}
	l.known.Roles = roles
	return nil
}
