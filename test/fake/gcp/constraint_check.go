package gcptest

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/orgpolicy/v2"
	"google.golang.org/api/secretmanager/v1"
	"google.golang.org/api/storage/v1"
)

// demand is a use of something that an organization policy may forbid.
type demand struct {
	constraint string
	// names are the names of the value in a list constraint. A boolean constraint has none.
	names []string
}

// checkConstraints returns an error if an organization policy of the project forbids a call.
// https://cloud.google.com/resource-manager/docs/organization-policy/org-policy-constraints
func (c *call) checkConstraints() error {
	p := c.projectOf()
	if p == nil || len(p.constraints) == 0 {
		return nil
	}
	service := c.service.Name + ".googleapis.com"
	if rule := p.constraints["gcp.restrictServiceUsage"]; rule != nil && !slices.Contains(unrestricted(), c.service.Name) && !permits(rule, []string{service}) {
		return refuse(403, "forbidden", "Request is disallowed by organization's constraints/gcp.restrictServiceUsage constraint for 'projects/%s' attempting to use service '%s'.", p.id, service)
	}
	of, found := demanders()[c.ID]
	if !found {
		return nil
	}
	for _, d := range of(c) {
		if rule := p.constraints[d.constraint]; rule != nil && !permits(rule, d.names) {
			return refuse(412, "conditionNotMet", "Constraint constraints/%s violated for projects/%s (%s).", d.constraint, p.id, strings.Join(d.names, ", "))
		}
	}
	return nil
}

// unrestricted returns the services with which policies and APIs are managed, and which no policy restricts.
// https://cloud.google.com/resource-manager/docs/organization-policy/restricting-resources-supported-services
func unrestricted() []string { return []string{"orgpolicy", "serviceusage", "cloudresourcemanager"} }

// permits reports whether a rule permits a value with these names, or what a boolean constraint forbids.
func permits(r *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule, names []string) bool {
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(v string) bool { return slices.Contains(names, strings.TrimPrefix(v, "is:")) })
	}
	switch {
	case names == nil:
		return !r.Enforce
	case r.DenyAll:
		return false
	case r.Values == nil:
		return true
	}
	return !has(r.Values.DeniedValues) && (len(r.Values.AllowedValues) == 0 || has(r.Values.AllowedValues))
}

// demanders returns the demands of the calls that constraints concern, by method.
func demanders() map[string]func(*call) []demand {
	inRegion := func(c *call) []demand { return []demand{located(c.params["region"])} }
	return map[string]func(*call) []demand{
		"compute.instances.insert": instanceDemands,
		"compute.disks.insert":     func(c *call) []demand { return []demand{located(c.params["zone"]), ownKeys("compute")} },
		"compute.addresses.insert": inRegion,
		"compute.routers.insert":   routerDemands,
		"compute.routers.patch":    routerDemands,
		"compute.snapshots.insert": snapshotDemands,
		"compute.subnetworks.insert": func(c *call) []demand {
			logs := "none"
			if decode[compute.Subnetwork](c).EnableFlowLogs {
				logs = "ESSENTIAL"
			}
			return append(inRegion(c), demand{"compute.requireVpcFlowLogs", []string{logs}})
		},
		"storage.buckets.insert":                bucketDemands,
		"secretmanager.projects.secrets.create": secretDemands,
		"iam.projects.serviceAccounts.create":   func(*call) []demand { return []demand{{constraint: "iam.disableServiceAccountCreation"}} },
	}
}

// ownKeys returns the demand for a resource that is encrypted with Google's key.
func ownKeys(service string) demand {
	return demand{"gcp.restrictNonCmekServices", []string{service + ".googleapis.com"}}
}

// located returns the demand for a resource in a zone, region or multi-region, or one that is global. A
// region in a policy does not include its zones, but its value group does.
// https://cloud.google.com/resource-manager/docs/organization-policy/defining-locations#location_types
func located(place string) demand {
	d := demand{"gcp.resourceLocations", []string{place}}
	if place == "global" {
		return d
	}
	parts := strings.Split(place, "-")
	if len(parts) > 1 {
		d.names = append(d.names, "in:"+parts[0]+"-"+parts[1]+"-locations")
	}
	return demand{d.constraint, append(d.names, "in:"+strings.Replace(parts[0], "europe", "eu", 1)+"-locations")}
}

func instanceDemands(c *call) []demand {
	in := decode[compute.Instance](c)
	out := []demand{located(c.params["zone"]), ownKeys("compute")}
	for _, n := range in.NetworkInterfaces {
		if len(n.AccessConfigs) > 0 {
			out = append(out, demand{"compute.vmExternalIpAccess", []string{"projects/" + c.params["project"] + "/zones/" + c.params["zone"] + "/instances/" + in.Name}})
		}
		if owner := projectIn(n.Subnetwork); owner != "" && owner != c.params["project"] {
			out = append(out, demand{"compute.restrictSharedVpcSubnetworks", []string{pathOf(n.Subnetwork), "under:projects/" + owner}})
		}
	}
	for _, d := range in.Disks {
		if d.InitializeParams != nil && projectIn(d.InitializeParams.SourceImage) != "" {
			out = append(out, demand{"compute.trustedImageProjects", []string{"projects/" + projectIn(d.InitializeParams.SourceImage)}})
		}
	}
	if s := in.ShieldedInstanceConfig; s == nil || !s.EnableSecureBoot {
		out = append(out, demand{constraint: "compute.requireShieldedVm"})
	}
	return out
}

// pathOf returns the path of a link: "projects/p/regions/r/subnetworks/s".
func pathOf(link string) string {
	if i := strings.Index(link, "projects/"); i >= 0 {
		return link[i:]
	}
	return link
}

// projectIn returns the project that a link names, or "".
func projectIn(link string) string {
	rest, named := strings.CutPrefix(pathOf(link), "projects/")
	if !named {
		return ""
	}
	project, _, _ := strings.Cut(rest, "/")
	return project
}

func routerDemands(c *call) []demand {
	var out []demand
	if c.verbOf() == "insert" {
		out = append(out, located(c.params["region"]))
	}
	for _, n := range decode[compute.Router](c).Nats {
		names := []string{"under:projects/" + c.params["project"]}
		for _, s := range n.Subnetworks {
			names = append(names, pathOf(s.Name))
		}
		out = append(out, demand{"compute.restrictCloudNATUsage", names})
	}
	return out
}

// snapshotDemands: without a storage location, a snapshot is in the multi-region nearest to its disk.
// https://cloud.google.com/compute/docs/disks/snapshots#selecting_a_storage_location
func snapshotDemands(c *call) []demand {
	in := decode[compute.Snapshot](c)
	if len(in.StorageLocations) > 0 {
		return []demand{located(in.StorageLocations[0])}
	}
	zone := placeOf(pathOf(in.SourceDisk))
	continent, _, _ := strings.Cut(zone, "-")
	return []demand{located(strings.Replace(continent, "europe", "eu", 1))}
}

func bucketDemands(c *call) []demand {
	in := decode[storage.Bucket](c)
	kept := int64(7 * 24 * 3600)
	if in.SoftDeletePolicy != nil {
		kept = in.SoftDeletePolicy.RetentionDurationSeconds
	}
	return []demand{
		located(strings.ToLower(in.Location)), ownKeys("storage"),
		{"storage.softDeletePolicySeconds", []string{strconv.FormatInt(kept, 10)}},
	}
}

// secretDemands: automatic replication counts as global.
// https://cloud.google.com/secret-manager/docs/choosing-replication
func secretDemands(c *call) []demand {
	in := decode[secretmanager.Secret](c)
	if in.Replication == nil || in.Replication.UserManaged == nil {
		return []demand{located("global")}
	}
	var out []demand
	for _, r := range in.Replication.UserManaged.Replicas {
		out = append(out, located(r.Location))
	}
	return out
}
