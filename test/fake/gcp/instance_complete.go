package gcptest

import (
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"
)

// completeMachine validates a new instance and sets its output-only fields.
// https://cloud.google.com/compute/docs/regions-zones#available
func (c *call) completeMachine(path string, m *machine) error {
	zoneName := placeOf(path)
	kind := c.pathOf(m.MachineType)
	t, found := findType(zoneName, nameOf(kind))
	if !found || placeOf(kind) != zoneName {
		return wrongField("machineType", m.MachineType, "Machine type with name '"+nameOf(kind)+"' does not exist in zone '"+zoneName+"'.")
	}
	m.MachineType, m.Status, m.CpuPlatform = linkTo(kind), "PROVISIONING", orElse(m.MinCpuPlatform, "Intel Cascade Lake")
	if err := c.checkLabelsAndTags(m); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return c.completeGPUs(zoneName, t, m) },
		func() error { return completeScheduling(m) },
		func() error { return c.completeDisks(path, m) },
		func() error { return c.completeNICs(path, m) },
		func() error { return c.completeAccounts(m) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) checkLabelsAndTags(m *machine) error {
	if err := checkLabels(m.Labels); err != nil {
		return err
	}
	if m.Tags == nil {
		m.Tags = &compute.Tags{}
	}
	if m.Metadata == nil {
		m.Metadata = &compute.Metadata{}
	}
	m.Tags.Fingerprint, m.Metadata.Fingerprint, m.Metadata.Kind = c.fingerprint(), c.fingerprint(), "compute#metadata"
	return checkMetadata(m.Metadata)
}

// checkMetadata returns an error for duplicate keys and values that are too large.
// https://cloud.google.com/compute/docs/metadata/overview#limitations
func checkMetadata(md *compute.Metadata) error {
	total := 0
	seen := make(map[string]bool)
	for _, item := range md.Items {
		if seen[item.Key] {
			return wrongField("metadata", item.Key, "Duplicate metadata key.")
		}
		seen[item.Key] = true
		if item.Value != nil {
			if total += len(*item.Value); len(*item.Value) > 256<<10 {
				return wrongField("metadata.items", item.Key, "Metadata value is longer than 262144 bytes.")
			}
		}
	}
	if total > 512<<10 {
		return wrongField("metadata", "", "Metadata is longer than 524288 bytes.")
	}
	return nil
}

// completeGPUs sets the GPUs included in the machine type, and validates attached ones: they
// require an N1 machine type and a zone that offers them.
// https://cloud.google.com/compute/docs/gpus
func (c *call) completeGPUs(zoneName string, t machineType, m *machine) error {
	if t.gpu != "" {
		for _, a := range m.GuestAccelerators {
			if nameOf(a.AcceleratorType) != t.gpu || a.AcceleratorCount != t.gpus {
				return wrongField("guestAccelerators", a.AcceleratorType, "["+t.name+", "+nameOf(a.AcceleratorType)+"] features are not compatible for creating instance.")
			}
		}
		m.GuestAccelerators = []*compute.AcceleratorConfig{{AcceleratorType: linkTo("projects/" + c.projectID() + "/zones/" + zoneName + "/acceleratorTypes/" + t.gpu), AcceleratorCount: t.gpus}}
		return nil
	}
	z, _ := findZone(zoneName)
	for _, a := range m.GuestAccelerators {
		name := nameOf(a.AcceleratorType)
		g, known := findGPU(name)
		if !known || !slices.Contains(z.gpus, name) {
			return missingReference("guestAccelerators[0].acceleratorType", a.AcceleratorType)
		}
		if t.family() != "n1" || g.counts == nil {
			return wrongField("guestAccelerators", name, "["+t.name+", "+name+"] features are not compatible for creating instance.")
		}
		if !slices.Contains(g.counts, a.AcceleratorCount) {
			return wrongField("guestAccelerators[0].acceleratorCount", decimal(int(a.AcceleratorCount)), "The number of GPUs is not allowed for this type.")
		}
		a.AcceleratorType = linkTo(c.pathOf(a.AcceleratorType))
	}
	return nil
}

// completeScheduling validates and completes the scheduling: instances with GPUs cannot be
// live-migrated, and Spot VMs cannot restart automatically.
// https://cloud.google.com/compute/docs/instances/setting-vm-host-options
// https://cloud.google.com/compute/docs/instances/create-use-spot
func completeScheduling(m *machine) error {
	if m.Scheduling == nil {
		m.Scheduling = &compute.Scheduling{}
	}
	s := m.Scheduling
	spot := m.isSpot()
	if s.OnHostMaintenance == "" {
		s.OnHostMaintenance = "MIGRATE"
		if spot {
			s.OnHostMaintenance = "TERMINATE"
		}
	}
	if s.AutomaticRestart == nil {
		restart := !spot
		s.AutomaticRestart = &restart
	}
	switch {
	case len(m.GuestAccelerators) > 0 && s.OnHostMaintenance != "TERMINATE":
		return refuse(400, "invalid", "Instances with guest accelerators do not support live migration.")
	case spot && (*s.AutomaticRestart || s.OnHostMaintenance != "TERMINATE"):
		return wrongField("scheduling", "SPOT", "Scheduling must have preemptible be false when AutomaticRestart is true, and onHostMaintenance TERMINATE.")
	case s.InstanceTerminationAction != "" && !spot && s.MaxRunDuration == nil:
		return wrongField("scheduling.instanceTerminationAction", s.InstanceTerminationAction, "Only Spot VMs have one.")
	case s.ProvisioningModel == "":
		s.ProvisioningModel = "STANDARD"
	}
	s.Preemptible = spot
	return nil
}

// completeNICs assigns addresses to the network interfaces.
// https://cloud.google.com/vpc/docs/create-use-multiple-interfaces
func (c *call) completeNICs(path string, m *machine) error {
	if len(m.NetworkInterfaces) == 0 {
		return wrongField("networkInterfaces", "", "At least one network interface is required.")
	}
	for i, nic := range m.NetworkInterfaces {
		if err := c.completeNIC(path, nic); err != nil {
			return err
		}
		nic.Kind, nic.Name, nic.Fingerprint = "compute#networkInterface", "nic"+decimal(i), c.fingerprint()
	}
	return nil
}

// completeNIC: https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
func (c *call) completeNIC(path string, nic *compute.NetworkInterface) error {
	s, err := c.subnetworkOf(path, nic)
	if err != nil {
		return err
	}
	nic.Subnetwork, nic.Network, nic.StackType = s.SelfLink, s.Network, "IPV4_ONLY"
	if nic.NetworkIP == "" {
		ip, free := c.freeAddress(s)
		if !free {
			return refuse(400, "ipSpaceExhausted", "IP space of '%s' is exhausted.", s.SelfLink)
		}
		nic.NetworkIP = ip
	}
	for _, a := range nic.AccessConfigs {
		a.Kind, a.Name, a.Type = "compute#accessConfig", orElse(a.Name, "external-nat"), orElse(a.Type, "ONE_TO_ONE_NAT")
		a.NetworkTier = orElse(a.NetworkTier, "PREMIUM")
		if err := c.completeNatIP(path, a); err != nil {
			return err
		}
	}
	return nil
}

// completeNatIP assigns an ephemeral external address, or a reserved address that is not in use.
// https://cloud.google.com/compute/docs/ip-addresses/configure-static-external-ip-address
func (c *call) completeNatIP(path string, a *compute.AccessConfig) error {
	if a.NatIP == "" {
		a.NatIP = c.externalAddress()
		return nil
	}
	have, found := c.staticAddress(a.NatIP)
	switch {
	case !found:
		return wrongField("networkInterfaces[0].accessConfigs[0].natIP", a.NatIP, "The specified external IP address was not found.")
	case nameOf(have.Region) != regionOf(placeOf(path)):
		return wrongField("networkInterfaces[0].accessConfigs[0].natIP", a.NatIP, "The address is of another region.")
	case len(have.Users) > 0:
		return refuse(400, "externalIpInUse", "External IP address: %s is already in-use.", a.NatIP)
	}
	return nil
}

// subnetworkOf returns the subnetwork of an interface. An auto mode network has one in every
// region. https://cloud.google.com/vpc/docs/subnets#subnets_vs_subnetworks
func (c *call) subnetworkOf(path string, nic *compute.NetworkInterface) (*compute.Subnetwork, error) {
	region := regionOf(placeOf(path))
	if nic.Subnetwork != "" {
		key := c.pathOf(nic.Subnetwork)
		s, found := c.engine.subnetworks.get(key)
		if !found {
			return nil, missingReference("networkInterfaces[0].subnetwork", nic.Subnetwork)
		}
		if placeOf(key) != region {
			return nil, wrongField("networkInterfaces[0].subnetwork", nic.Subnetwork, "The subnetwork must be in region "+region+".")
		}
		if nic.Network != "" && linkTo(c.pathOf(nic.Network)) != s.Network {
			return nil, wrongField("networkInterfaces[0]", nic.Network, "The network and the subnetwork do not belong together.")
		}
		return s, nil
	}
	network := c.pathOf(orElse(nic.Network, "global/networks/default"))
	n, found := c.engine.networks.get(network)
	if !found {
		return nil, missingReference("networkInterfaces[0].network", nic.Network)
	}
	for _, s := range c.engine.subnetworks.all() {
		if n.AutoCreateSubnetworks && s.Network == linkTo(network) && nameOf(s.Region) == region {
			return s, nil
		}
	}
	return nil, wrongField("networkInterfaces[0].subnetwork", "", "Subnetwork should be specified for custom subnetmode network")
}

// completeAccounts returns an error for a service account that is not known yet, or for more than
// one. https://cloud.google.com/compute/docs/access/service-accounts
func (c *call) completeAccounts(m *machine) error {
	if len(m.ServiceAccounts) > 1 {
		return wrongField("serviceAccounts", "", "At most one service account.")
	}
	for _, a := range m.ServiceAccounts {
		if a.Email == "default" {
			p, _ := c.project(c.params["project"])
			a.Email = defaultAccount(p)
		}
		if !c.accountKnown(a.Email) {
			return refuse(400, "invalid", "The resource '%s' of type 'serviceAccount' was not found.", a.Email)
		}
		for _, s := range a.Scopes {
			if !strings.HasPrefix(s, scopePrefix) {
				return wrongField("serviceAccounts[0].scopes[0]", s, "The scope is not valid.")
			}
		}
	}
	return nil
}
