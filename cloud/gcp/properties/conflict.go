package properties

import (
	"fmt"
	"slices"

	"google.golang.org/api/compute/v1"
)

// Pool holds the pool settings that instance properties may conflict with.
type Pool struct {
	// Zones are the pool's zones, or empty if they are not known yet.
	Zones []string
	// Account is the email of the machines' service account, or empty.
	Account string
	// Spot reports whether the pool launches Spot VMs.
	Spot bool
}

// Conflicts returns the properties that conflict with the settings of a pool, except those that the
// settings evidently override.
func Conflicts(p *compute.InstanceProperties, pool Pool) Problems {
	var out Problems
	refuse := func(at, hint, format string, args ...any) {
		out = append(out, Problem{at, fmt.Sprintf(format, args...), hint})
	}
	for _, zone := range Zones(p) {
		for _, other := range pool.Zones {
			if other != zone {
				refuse("disks", "set "+zone+" as the pool's only zone", "are in zone %s, so machines cannot be in %s", zone, other)
			}
		}
	}
	for _, key := range ReservedLabels() {
		if _, found := p.Labels[key]; found {
			refuse(join("labels", key), "remove it", "is reserved")
		}
	}
	for i, item := range listMetadata(p) {
		if slices.Contains(ReservedMetadata(), item.Key) {
			refuse(fmt.Sprintf("metadata.items[%d]", i), "use provider.startup_script for startup scripts", "%s is reserved", item.Key)
		}
	}
	if IsSpot(p.Scheduling) && !pool.Spot {
		refuse("scheduling", "set provider.spot", "Spot VMs are configured by the pool")
	}
	if hasOtherAccount(p, pool.Account) {
		refuse("serviceAccounts", "set it here or in provider.service_account", "an instance has at most one service account")
	}
	return out
}

// hasOtherAccount reports whether properties name a service account besides account.
func hasOtherAccount(p *compute.InstanceProperties, account string) bool {
	all := []string{}
	if account != "" {
		all = append(all, account)
	}
	for _, a := range p.ServiceAccounts {
		if !slices.Contains(all, a.Email) {
			all = append(all, a.Email)
		}
	}
	return len(all) > 1
}

// IsSpot reports whether Google may preempt the VM. Preemptible is the predecessor of the SPOT
// provisioning model.
func IsSpot(s *compute.Scheduling) bool {
	return s != nil && (s.Preemptible || s.ProvisioningModel == "SPOT")
}

func listMetadata(p *compute.InstanceProperties) []*compute.MetadataItems {
	if p.Metadata == nil {
		return nil
	}
	return p.Metadata.Items
}
