package gcptest

import (
	"strings"

	"google.golang.org/api/compute/v1"
)

// computeNeeds returns the permissions of a call to Compute Engine, from the section "IAM
// Permissions" of its reference page: https://cloud.google.com/compute/docs/reference/rest/v1
func (c *call) computeNeeds() []need {
	parts := strings.Split(c.ID, ".")
	collection, verb := parts[1], parts[2]
	project := resourceName{path: "projects/" + c.projectID()}
	switch c.ID {
	case "compute.subnetworks.testIamPermissions":
		return nil
	case "compute.images.getFromFamily": // on the project of the image
		return []need{{c.ID, resourceName{path: "projects/" + c.projectID()}}}
	case "compute.projects.get":
		return []need{{"compute.projects.get", project}}
	case "compute.instances.insert":
		return c.launchNeeds()
	case "compute.disks.createSnapshot", "compute.snapshots.insert":
		return c.snapshotNeeds()
	case "compute.instances.setServiceAccount":
		return append([]need{{"compute.instances.setServiceAccount", c.target()}}, c.actAs(decode[compute.InstancesSetServiceAccountRequest](c).Email)...)
	case "compute.instances.attachDisk":
		d := decode[compute.AttachedDisk](c)
		return []need{{"compute.instances.attachDisk", c.target()}, c.diskUse(d)}
	}
	switch verb {
	case "insert":
		verb = "create"
	case "aggregatedList":
		verb = "list"
	case "patch":
		verb = "update"
	case "wait":
		verb = "get"
	}
	return append([]need{{"compute." + collection + "." + verb, c.target()}}, c.sideNeeds(collection, verb)...)
}

// target returns the resource of a call, as named in conditions.
func (c *call) target() resourceName {
	collection := strings.Split(c.ID, ".")[1]
	project := "projects/" + c.projectID()
	name := c.params[parameterOf(collection)]
	if name == "" {
		name = c.params["resource"]
	}
	if name == "" && c.verbOf() == "insert" {
		name = asText(c.sent()["name"])
	}
	scope, err := c.scope()
	if name == "" || err != nil {
		return resourceName{path: project}
	}
	return computeResource(scope + collection + "/" + name)
}

// computeResource returns a Compute Engine resource. In this fake, only subnetworks have their own
// policies.
func computeResource(path string) resourceName {
	kind := singular(path)
	return resourceName{path: policyPath(path), name: path, kind: "compute.googleapis.com/" + strings.ToUpper(kind[:1]) + kind[1:]}
}

func policyPath(path string) string {
	if strings.Contains(path, "/subnetworks/") {
		return path
	}
	return strings.Join(strings.Split(path, "/")[:2], "/")
}

// sideNeeds returns the permissions of a call on resources other than its target.
func (c *call) sideNeeds(collection, verb string) []need {
	project := resourceName{path: "projects/" + c.projectID()}
	var out []need
	changes := verb == "create" || verb == "update" || verb == "delete"
	if changes && (collection == "firewalls" || verb == "create" && (collection == "subnetworks" || collection == "routers")) {
		out = append(out, need{"compute.networks.updatePolicy", project})
	}
	if _, labelled := c.sent()["labels"]; labelled && verb == "create" {
		out = append(out, need{"compute." + collection + ".setLabels", c.target()})
	}
	if collection == "disks" && verb == "create" {
		d := decode[compute.Disk](c)
		out = append(out, c.sourceNeeds(d.SourceImage, d.SourceSnapshot)...)
	}
	return out
}

func (c *call) sourceNeeds(image, snapshot string) []need {
	var out []need
	if image != "" {
		out = append(out, need{"compute.images.useReadOnly", computeResource(c.pathOf(image))})
	}
	if snapshot != "" {
		out = append(out, need{"compute.snapshots.useReadOnly", computeResource(c.pathOf(snapshot))})
	}
	return out
}

// snapshotNeeds returns the permissions for creating a snapshot of a disk, for the methods of both
// resources. https://cloud.google.com/compute/docs/disks/create-snapshots#permissions
func (c *call) snapshotNeeds() []need {
	s := decode[compute.Snapshot](c)
	disk, on := c.target(), computeResource("projects/"+c.projectID()+"/global/snapshots/"+s.Name)
	if s.SourceDisk != "" {
		disk = computeResource(c.pathOf(s.SourceDisk))
	}
	out := []need{{"compute.disks.createSnapshot", disk}, {"compute.snapshots.create", on}}
	if len(s.Labels) > 0 {
		out = append(out, need{"compute.snapshots.setLabels", on})
	}
	return out
}

// launchNeeds: https://cloud.google.com/compute/docs/instances/create-start-instance#permissions
func (c *call) launchNeeds() []need {
	in := decode[compute.Instance](c)
	on := c.target()
	out := []need{{"compute.instances.create", on}}
	for permission, given := range map[string]bool{
		"setMetadata": in.Metadata != nil && len(in.Metadata.Items) > 0, "setTags": in.Tags != nil && len(in.Tags.Items) > 0,
		"setLabels": len(in.Labels) > 0, "setServiceAccount": len(in.ServiceAccounts) > 0, "setDeletionProtection": in.DeletionProtection,
	} {
		if given {
			out = append(out, need{"compute.instances." + permission, on})
		}
	}
	for _, d := range in.Disks {
		out = append(out, c.diskNeeds(in.Name, d)...)
	}
	for _, nic := range in.NetworkInterfaces {
		out = append(out, c.nicNeeds(nic)...)
	}
	for _, a := range in.ServiceAccounts {
		out = append(out, c.actAs(a.Email)...)
	}
	return out
}

func (c *call) diskNeeds(machine string, d *compute.AttachedDisk) []need {
	if d.InitializeParams == nil {
		return []need{c.diskUse(d)}
	}
	on := computeResource("projects/" + c.projectID() + "/zones/" + c.params["zone"] + "/disks/" + orElse(d.InitializeParams.DiskName, machine))
	out := append([]need{{"compute.disks.create", on}}, c.sourceNeeds(d.InitializeParams.SourceImage, d.InitializeParams.SourceSnapshot)...)
	if len(d.InitializeParams.Labels) > 0 {
		out = append(out, need{"compute.disks.setLabels", on})
	}
	return out
}

func (c *call) diskUse(d *compute.AttachedDisk) need {
	if d.Mode == "READ_ONLY" {
		return need{"compute.disks.useReadOnly", computeResource(c.pathOf(d.Source))}
	}
	return need{"compute.disks.use", computeResource(c.pathOf(d.Source))}
}

// nicNeeds returns the permission to use the subnetwork, or the network if no subnetwork is given.
func (c *call) nicNeeds(nic *compute.NetworkInterface) []need {
	on, use := computeResource(c.pathOf(orElse(nic.Network, "global/networks/default"))), "compute.networks.use"
	if nic.Subnetwork != "" {
		on, use = computeResource(c.pathOf(nic.Subnetwork)), "compute.subnetworks.use"
	}
	out := []need{{use, on}}
	for _, a := range nic.AccessConfigs {
		out = append(out, need{use + "ExternalIp", on})
		if static, found := c.staticAddress(a.NatIP); found && a.NatIP != "" {
			out = append(out, need{"compute.addresses.use", computeResource(strings.TrimPrefix(static.SelfLink, linkBase))})
		}
	}
	return out
}

// actAs returns the permission to attach a service account to an instance.
// https://cloud.google.com/iam/docs/service-accounts-actas
func (c *call) actAs(email string) []need {
	if p := c.projectOf(); email == "default" && p != nil {
		email = defaultAccount(p)
	}
	a, found := c.accountOf(email)
	if !found {
		return nil
	}
	return []need{{"iam.serviceAccounts.actAs", resourceName{path: a.Name, kind: "iam.googleapis.com/ServiceAccount"}}}
}
