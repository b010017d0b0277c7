package gcp

import (
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// The predefined roles that the accounts get on single resources.
const (
	objectUser   = identity.Predefined("roles/storage.objectUser")
	objectViewer = identity.Predefined("roles/storage.objectViewer")
	secretReader = identity.Predefined("roles/secretmanager.secretAccessor")
)

// statusPrefix is the prefix of the objects that the master's machine writes to the control bucket.
const statusPrefix = "status/"

// cloudPlatform is the scope that leaves the limits to IAM roles.
const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// noteAccounts records which of the machines' accounts belong to the user.
func (t *Target) noteAccounts() {
	t.cluster.Accounts = slices.DeleteFunc([]string{t.MasterAccount(), t.AgentAccount()}, func(email string) bool { return email == "" })
}

// addAccounts adds the accounts of the machines and their roles on the cluster's resources. It
// grants no project roles to an account of the user, who is responsible for those.
func (b *blueprint) addAccounts() {
	b.master = b.addAccount("master", b.MasterAccount())
	if own, ok := b.master.(*identity.Account); ok {
		role := b.addRole(own, identity.MasterPermissions())
		b.addProjectRoles(own, slices.Concat(
			identity.GrantsIf(role, identity.NameConditions(b.cluster, b.Known.Zones)),
			identity.GrantsIf(role, identity.DiskConditions(b.cluster, b.poolDisks())),
			b.secretGrants(),
		))
	}
	b.addResources(&identity.Binding{
		In: b.cluster, Name: "master-on-control", Account: b.master, On: identity.OnBucket(b.cluster, b.store.Name),
		Grants: []identity.Grant{{Role: objectViewer}, {Role: objectUser, If: identity.ObjectCondition(b.cluster, b.store.Name, statusPrefix)}},
	})
	b.addBucketRole("master", b.master)
	if b.Spec.Roles.Agent != spec.NoAccount {
		b.addAgentAccount()
	}
}

func (b *blueprint) addAgentAccount() {
	b.agent = b.addAccount("agent", b.AgentAccount())
	own, ok := b.agent.(*identity.Account)
	if ok {
		b.addProjectRoles(own, []identity.Grant{{Role: b.addRole(own, identity.AgentPermissions())}})
	}
	b.addBucketRole("agent", b.agent)
	// If both accounts are the user's, the user grants the one access to the other.
	if ok || b.MasterAccount() == "" {
		b.addResources(identity.ActAs(b.cluster, b.master, b.agent))
	}
}

// addAccount adds an account or refers to the user's.
func (b *blueprint) addAccount(name, existing string) identity.Holder {
	if existing != "" {
		return identity.ExistingAccount(existing)
	}
	a := &identity.Account{In: b.cluster, Name: name}
	b.addResources(a)
	return a
}

// addRole adds the custom role of a cluster account.
func (b *blueprint) addRole(a *identity.Account, permissions []string) *identity.Role {
	r := &identity.Role{In: b.cluster, Name: a.Name, Permissions: permissions}
	b.addResources(r)
	return r
}

// addProjectRoles grants a cluster account its roles in the project: the given ones, and a
// conditional one on the user's bucket if checkpoints go there. If the user asks for it, the
// account also gets a role on a shared subnetwork.
func (b *blueprint) addProjectRoles(a *identity.Account, grants []identity.Grant) {
	if b.bucket == nil {
		grants = append(grants, identity.Grant{Role: objectUser, If: identity.BucketCondition(b.cluster, b.dataBucket())})
	}
	b.addResources(&identity.Binding{In: b.cluster, Name: a.Name, Account: a, On: identity.OnProject(b.cluster), Grants: grants})
	if b.cluster.Shared != "" {
		b.addResources(identity.NetworkUser(b.cluster, a.Name, a))
	}
}

// addBucketRole grants an account read and write access to the cluster's data bucket.
func (b *blueprint) addBucketRole(name string, a identity.Holder) {
	if b.bucket != nil {
		b.addResources(&identity.Binding{
			In: b.cluster, Name: name + "-on-data", Account: a, On: identity.OnBucket(b.cluster, b.bucket.FullName()), After: b.bucket,
			Grants: []identity.Grant{{Role: objectUser}},
		})
	}
}

// addSecretRoles grants the master read access to secrets of the cluster, by name.
func (b *blueprint) addSecretRoles(names []string) {
	for _, name := range names {
		s := &storage.Secret{In: b.cluster, Name: name}
		b.addResources(&identity.Binding{
			In: b.cluster, Name: "master-on-" + name, Account: b.master, On: identity.OnSecret(b.cluster, s.FullName()), After: s,
			Grants: []identity.Grant{{Role: secretReader}},
		})
	}
}

// secretGrants returns grants that let the master read the user's secrets in the project.
func (b *blueprint) secretGrants() []identity.Grant {
	var out []identity.Grant
	for _, name := range b.ForeignSecrets() {
		project, id := storage.SecretOf(name, b.Spec.Project)
		if project == b.Spec.Project || project == strconv.FormatUint(b.Caller.Number, 10) {
			out = append(out, identity.Grant{Role: secretReader, If: identity.SecretCondition(b.cluster, id)})
		}
	}
	return out
}

// poolDisks returns the disks of the project that the base_config of any pool attaches, such as
// "us-central1-a/data".
func (b *blueprint) poolDisks() []string {
	var out []string
	for _, p := range b.Spec.AllPools() {
		base, err := properties.Parse(p.BaseConfig.JSON())
		if err != nil {
			continue // a check reports the error
		}
		for _, d := range base.Disks {
			if disk, found := diskOf(d.Source, b.Spec.Project); found {
				out = append(out, disk)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// diskOf returns the zone and name of a disk of the project from a link such as
// "zones/us-central1-a/disks/data".
func diskOf(link, project string) (disk string, found bool) {
	parts := strings.Split(link, "/")
	if len(parts) < 4 || parts[len(parts)-4] != "zones" || parts[len(parts)-2] != "disks" {
		return "", false
	}
	if i := slices.Index(parts, "projects"); i >= 0 && parts[i+1] != project {
		return "", false
	}
	return parts[len(parts)-3] + "/" + parts[len(parts)-1], true
}
