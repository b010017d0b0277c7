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

// The roles that accounts have on one thing.
const (
	objectUser   = identity.Predefined("roles/storage.objectUser")
	objectViewer = identity.Predefined("roles/storage.objectViewer")
	secretReader = identity.Predefined("roles/secretmanager.secretAccessor")
)

// statusPrefix begins the names of what the master's machine writes into the control bucket.
const statusPrefix = "status/"

// cloudPlatform is the scope with which roles alone limit what an account may do.
const cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"

// noteAccounts notes which accounts of the machines are the user's.
func (t *Target) noteAccounts() {
	t.cluster.Accounts = slices.DeleteFunc([]string{t.MasterAccount(), t.AgentAccount()}, func(email string) bool { return email == "" })
}

// addAccounts adds the accounts of the machines, and what they may do with what is the
// cluster's. In the project an account of the user's has the roles that the user gave it.
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
	// Of two accounts of the user's, one has of the other what the user gave it.
	if ok || b.MasterAccount() == "" {
		b.addResources(identity.ActAs(b.cluster, b.master, b.agent))
	}
}

// addAccount adds an account, or refers to the user's.
func (b *blueprint) addAccount(name, existing string) identity.Holder {
	if existing != "" {
		return identity.ExistingAccount(existing)
	}
	a := &identity.Account{In: b.cluster, Name: name}
	b.addResources(a)
	return a
}

// addRole adds the role of an account of the cluster's.
func (b *blueprint) addRole(a *identity.Account, permissions []string) *identity.Role {
	r := &identity.Role{In: b.cluster, Name: a.Name, Permissions: permissions}
	b.addResources(r)
	return r
}

// addProjectRoles gives an account of the cluster's its roles in the project: those that
// are given, and where checkpoints go into a bucket of the user's, one for that alone. On
// a shared subnetwork it has a role where the user asks for that.
func (b *blueprint) addProjectRoles(a *identity.Account, grants []identity.Grant) {
	if b.bucket == nil {
		grants = append(grants, identity.Grant{Role: objectUser, If: identity.BucketCondition(b.cluster, b.dataBucket())})
	}
	b.addResources(&identity.Binding{In: b.cluster, Name: a.Name, Account: a, On: identity.OnProject(b.cluster), Grants: grants})
	if b.cluster.Shared != "" {
		b.addResources(identity.NetworkUser(b.cluster, a.Name, a))
	}
}

// addBucketRole lets an account read and write the cluster's own data bucket.
func (b *blueprint) addBucketRole(name string, a identity.Holder) {
	if b.bucket != nil {
		b.addResources(&identity.Binding{
			In: b.cluster, Name: name + "-on-data", Account: a, On: identity.OnBucket(b.cluster, b.bucket.FullName()), After: b.bucket,
			Grants: []identity.Grant{{Role: objectUser}},
		})
	}
}

// addSecretRoles lets the master read secrets of the cluster, by their names.
func (b *blueprint) addSecretRoles(names []string) {
	for _, name := range names {
		s := &storage.Secret{In: b.cluster, Name: name}
		b.addResources(&identity.Binding{
			In: b.cluster, Name: "master-on-" + name, Account: b.master, On: identity.OnSecret(b.cluster, s.FullName()), After: s,
			Grants: []identity.Grant{{Role: secretReader}},
		})
	}
}

// secretGrants let the master read the secrets of the project that are the user's.
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

// poolDisks are the disks of the project that base_config of some pool attaches, as
// "us-central1-a/data".
func (b *blueprint) poolDisks() []string {
	var out []string
	for _, p := range b.Spec.AllPools() {
		base, err := properties.Parse(p.BaseConfig.JSON())
		if err != nil {
			continue // a check says so
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

// diskOf is the zone and name of a disk of the project by a link to it:
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
