package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// checkPermissions asks Google which of the installer's permissions the caller has in the project.
// The answer ignores the organization's deny policies.
func (c *checker) checkPermissions(ctx context.Context) doctor.Result {
	const needed = "the permissions that `det-deploy gcp policy` prints"
	wanted := neededPermissions(c.Spec)
	missing, err := c.facts.MissingInProject(ctx, wanted)
	if err != nil {
		r := doctor.FromError(err, needed)
		r.Answer = doctor.Unknown
		return r
	}
	hard := slices.DeleteFunc(slices.Clone(missing), func(p string) bool { return slices.Contains(helpful(), p) })
	fix := fmt.Sprintf("ask an administrator of project %s for a role with the output of `det-deploy gcp policy`", c.Caller.Project)
	switch {
	case len(hard) > 0:
		return doctor.Failed(c.Caller.String()+" may not: "+strings.Join(hard, ", "), needed, fix).As(cloud.Denied)
	case len(missing) > 0:
		return doctor.Unsure(c.Caller.String()+" may not: "+strings.Join(missing, ", ")+"; some checks or repairs cannot be made", needed, fix)
	}
	return doctor.Passed("all %d permissions granted", len(wanted))
}

// helpful returns the optional permissions: without them, some checks and forms know less, and some manual
// changes are not repaired.
func helpful() []string {
	return []string{
		"orgpolicy.policy.get", "serviceusage.services.get", "serviceusage.services.enable", "compute.regions.list",
		"compute.routes.list", "resourcemanager.projects.get", "iam.roles.update", "iam.serviceAccounts.update",
	}
}

// neededPermissions returns the installer's permissions that a cluster uses.
func neededPermissions(s spec.GCP) []string {
	var spared []string
	changes := func(of string, verbs ...string) {
		for _, v := range verbs {
			spared = append(spared, of+"."+v)
		}
	}
	ownRules := s.Network.Firewall == spec.OwnFirewall
	if !s.Network.Own() {
		changes("compute.networks", "create", "delete")
		changes("compute.subnetworks", "create", "delete", "setPrivateIpGoogleAccess", "expandIpCidrRange")
	}
	if !s.Network.Own() || !s.Network.NAT {
		changes("compute.routers", "create", "update", "delete")
	}
	if !ownRules {
		changes("compute.firewalls", "create", "update", "delete")
		changes("compute.networks", "updatePolicy")
	}
	if s.Roles.Master != "" && s.Roles.Agent != "" {
		changes("iam.serviceAccounts", "create", "update", "delete")
		changes("iam.roles", "create", "update", "delete", "undelete")
	}
	// A user without UseQuota cannot make the request itself, and a service account does not need
	// it.
	spared = append(spared, "serviceusage.services.enable", identity.UseQuota)
	return slices.DeleteFunc(identity.InstallerPermissions(), func(p string) bool { return slices.Contains(spared, p) })
}

// accountChecks returns the checks of the user's service accounts: that the caller may attach them
// to machines, and that they have roles.
func (c *checker) accountChecks() []doctor.Check {
	var out []doctor.Check
	for _, a := range []struct{ who, role, email string }{
		{"master", c.Spec.Roles.Master, c.MasterAccount()}, {"agent", c.Spec.Roles.Agent, c.AgentAccount()},
	} {
		if a.email == "" {
			continue
		}
		out = append(out,
			doctor.Existing(a.who+"'s account "+a.email, "choose another with --"+a.who+"-service-account", func(ctx context.Context) error {
				return c.facts.AccountFit(ctx, a.email)
			}),
			doctor.Check{Name: a.who + "'s account may be used", Look: func(ctx context.Context) doctor.Result { return c.mayUse(ctx, a.email) }},
		)
		if a.who == "master" {
			out = append(out, doctor.Check{Name: "master's roles", Look: func(ctx context.Context) doctor.Result { return c.checkMasterRoles(ctx, a.email) }})
		}
	}
	return out
}

// mayUse checks whether the caller may attach an account to machines.
func (c *checker) mayUse(ctx context.Context, email string) doctor.Result {
	needed := "iam.serviceAccounts.actAs on " + email
	missing, err := c.facts.MissingOnAccount(ctx, email, []string{"iam.serviceAccounts.actAs"})
	if err != nil {
		return doctor.FromError(err, needed)
	}
	if len(missing) > 0 {
		return doctor.Failed(c.Caller.String()+" may not attach it to machines", needed,
			"grant yourself the role Service Account User: `gcloud iam service-accounts add-iam-policy-binding "+email+" --role roles/iam.serviceAccountUser --member MEMBER`").As(cloud.Denied)
	}
	return doctor.Passed("%s may attach it to machines", c.Caller)
}

// checkMasterRoles checks whether the master's account has any role in the project. It does not see
// roles inherited from a folder or the organization.
func (c *checker) checkMasterRoles(ctx context.Context, email string) doctor.Result {
	const needed = "an account that may launch machines: Compute Admin, and Service Account User where agents have an account"
	p, err := c.Clients.ProjectPolicy(ctx)
	if err != nil {
		r := doctor.FromError(err, needed)
		r.Answer = doctor.Unknown
		return r
	}
	var roles []string
	for _, b := range p.Bindings {
		if slices.Contains(b.Members, "serviceAccount:"+email) {
			roles = append(roles, b.Role)
		}
	}
	if len(roles) == 0 {
		return doctor.Unsure(email+" has no role in project "+c.Caller.Project, needed,
			fmt.Sprintf("`gcloud projects add-iam-policy-binding %s --member serviceAccount:%s --role roles/compute.admin`, unless it inherits a role from a folder", c.Caller.Project, email))
	}
	return doctor.Passed("%s", strings.Join(roles, ", "))
}

// isDenied reports whether a read failed for lack of permission.
func isDenied(err error) bool { return cloud.KindOf(err) == cloud.Denied }
