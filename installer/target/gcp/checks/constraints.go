package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// rule is a requirement that an organization policy may forbid.
type rule struct {
	constraint string
	// what describes the requirement, and fix the remedy where it is forbidden.
	what, fix string
	// names are the values to look up in a list constraint; a boolean constraint has none.
	names []string
	// within is a name of which it is unknown whether it covers the value.
	within string
	// optional reports that the cluster has an alternative.
	optional bool
}

// rules returns the requirements of the plan.
func (c *checker) rules() []rule {
	s, p := c.Spec, c.Caller.Project
	master := fmt.Sprintf("projects/%s/zones/%s/instances/%s", p, c.Known.Master.Zone, c.Owner.FullName("master"))
	out := append(c.locationRules(), []rule{
		{constraint: "compute.vmExternalIpAccess", what: "an external address of the master", fix: askAdministrator, names: []string{master}},
		{constraint: "storage.softDeletePolicySeconds", what: "a bucket without soft delete", fix: askAdministrator, names: []string{"0"}},
		{constraint: "gcp.restrictNonCmekServices", what: "disks and buckets with Google-managed keys", fix: askAdministrator, names: []string{"compute.googleapis.com"}},
		{constraint: "gcp.restrictNonCmekServices", what: "buckets with Google-managed keys", fix: askAdministrator, names: []string{"storage.googleapis.com"}},
	}...)
	for _, api := range facts.RequiredAPIs() {
		out = append(out, rule{constraint: "gcp.restrictServiceUsage", what: "the API " + api, fix: askAdministrator, names: []string{api}})
	}
	for _, project := range c.imageProjects() {
		out = append(out, rule{
			constraint: "compute.trustedImageProjects", what: "images of project " + project, names: []string{"projects/" + project},
			fix: "use images of a trusted project with --master-image and --agent-image",
		})
	}
	if s.Network.ExternalIP {
		out = append(out, rule{constraint: "compute.vmExternalIpAccess", what: "external addresses of agents, whose names are not known in advance", fix: "set --agent-external-ip=false and --nat", names: []string{"any"}})
	}
	if s.Roles.Master == "" || s.Roles.Agent == "" {
		out = append(out, rule{constraint: "iam.disableServiceAccountCreation", what: "service accounts created for the cluster", fix: "use existing accounts with --master-service-account and --agent-service-account"})
	}
	if s.Roles.Agent == spec.NoAccount {
		out = append(out, rule{constraint: "compute.disableGuestAttributesAccess", what: "guest attributes, with which agents without an account prove their identity", fix: "give agents an account with --agent-service-account"})
	}
	if pool := c.unshieldedPool(); pool != "" {
		out = append(out, rule{
			constraint: "compute.requireShieldedVm", what: "machines of pool " + pool + " without Secure Boot",
			fix: "set shieldedInstanceConfig with enableSecureBoot: true in its base_config, and use an image with signed drivers with --agent-image",
		})
	}
	if s.Network.Own() {
		out = append(out, rule{constraint: "compute.requireVpcFlowLogs", what: "a subnetwork without flow logs", fix: "use one that has them with --network and --subnetwork", names: []string{"none"}})
	}
	if s.Network.Shared() {
		subnet := fmt.Sprintf("projects/%s/regions/%s/subnetworks/%s", s.Network.HostProject, s.Region, s.Network.Subnetwork)
		out = append(out, rule{constraint: "compute.restrictSharedVpcSubnetworks", what: "the shared subnetwork " + s.Network.Subnetwork, fix: askAdministrator, names: []string{subnet, "under:projects/" + s.Network.HostProject}})
	}
	if s.Network.Own() && s.Network.NAT {
		subnet := fmt.Sprintf("projects/%s/regions/%s/subnetworks/%s", p, s.Region, c.Owner.FullName(s.Region))
		out = append(out, rule{constraint: "compute.restrictCloudNATUsage", what: "Cloud NAT", fix: askAdministrator, names: []string{subnet, "under:projects/" + p}})
	}
	return out
}

const askAdministrator = "ask the organization's administrator to allow it for the project; `gcloud org-policies describe CONSTRAINT --project PROJECT --effective` shows the policy"

// locationRules returns a requirement for each place with resources of the cluster: the region, with the
// network, addresses, buckets, secrets and snapshots, and each zone, with machines and disks.
func (c *checker) locationRules() []rule {
	region := c.Spec.Region
	out := []rule{{constraint: locations, what: "resources in " + region, fix: "choose another --region", names: placesOf(region, region)}}
	for _, zone := range c.Used() {
		out = append(out, rule{
			constraint: locations, what: "machines in " + zone, names: placesOf(region, zone), within: region, optional: zone != c.Known.Master.Zone,
			fix: "choose other zones with --zone and --pool-zone, or another --region",
		})
	}
	return out
}

// locations is the constraint of places.
const locations = "gcp.resourceLocations"

// placesOf returns the names that cover a place in location lists: its own, and Google's value groups for
// its region and continent.
func placesOf(region, place string) []string {
	continent, _, _ := strings.Cut(region, "-")
	if continent == "europe" {
		continent = "eu"
	}
	return []string{place, "in:" + region + "-locations", "in:" + continent + "-locations"}
}

// unshieldedPool returns a pool whose machines boot without Secure Boot, or "". NVIDIA's drivers
// are often unsigned, so pools need this unless base_config enables Secure Boot.
func (c *checker) unshieldedPool() string {
	all := c.Spec.AllPools()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		base, err := properties.Parse(p.BaseConfig.JSON())
		if err == nil && (base.ShieldedInstanceConfig == nil || !base.ShieldedInstanceConfig.EnableSecureBoot) {
			return name
		}
	}
	return ""
}

// imageProjects returns the projects of the cluster's images.
func (c *checker) imageProjects() []string {
	out := []string{c.facts.ParseImage(c.MasterImage()).Project}
	for _, p := range c.Spec.AllPools() {
		out = append(out, c.facts.ParseImage(c.AgentImage(p)).Project)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkConstraints checks whether the organization policy allows the plan.
func (c *checker) checkConstraints(ctx context.Context) doctor.Result {
	const needed = "an organization policy that allows the plan"
	rules := c.rules()
	known, err := c.readConstraints(ctx, rules)
	var wrong, odd []string
	fix := ""
	for _, r := range rules {
		k, read := known[r.constraint]
		if !read {
			continue
		}
		switch found, verdict := fmt.Sprintf("constraints/%s forbids %s", r.constraint, r.what), r.judge(k); {
		case verdict == facts.Forbidden && r.optional:
			odd = append(odd, found)
		case verdict == facts.Forbidden:
			wrong = append(wrong, found)
			fix = strings.NewReplacer("CONSTRAINT", r.constraint, "PROJECT", c.Caller.Project).Replace(r.fix)
		case verdict == facts.Unclear:
			odd = append(odd, fmt.Sprintf("constraints/%s lists value groups or regions; only Google can tell whether they allow %s", r.constraint, r.what))
		}
	}
	switch {
	case len(wrong) > 0:
		return doctor.Failed(strings.Join(wrong, "; "), needed, fix)
	case err != nil:
		r := doctor.FromError(err, needed)
		r.Answer = doctor.Unknown
		return r
	case len(odd) > 0:
		return doctor.Unsure(strings.Join(odd, "; "), needed, "continue: Google rejects forbidden requests, and nothing else changes")
	}
	return doctor.Passed("%d constraints allow it", len(known))
}

func (r rule) judge(k facts.Constraint) facts.Verdict {
	switch {
	case r.names == nil && k.Enforced:
		return facts.Forbidden
	case r.names == nil:
		return facts.Allowed
	}
	verdict := k.Judge(r.names...)
	if verdict == facts.Forbidden && r.within != "" && k.Judge(append(r.names, r.within)...) == facts.Allowed {
		return facts.Unclear
	}
	return verdict
}

// readConstraints reads each constraint once, concurrently.
func (c *checker) readConstraints(ctx context.Context, rules []rule) (map[string]facts.Constraint, error) {
	var names []string
	for _, r := range rules {
		names = append(names, r.constraint)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	all, errs := c.facts.Constraints(ctx, names)
	out := make(map[string]facts.Constraint)
	for i, name := range names {
		if errs[i] == nil {
			out[name] = all[i]
		}
	}
	return out, firstError(errs)
}

// firstError returns the first error, because the others are alike.
func firstError(errs []error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}
