package properties

import (
	"fmt"
	"slices"

	"google.golang.org/api/compute/v1"
)

// Pool is what the other settings of a pool say that properties could contradict.
type Pool struct {
	// Zones is where machines may be; none where it is not known yet.
	Zones []string
	// Account is the service account of machines, or empty.
	Account string
	// Spot says that the pool launches spot machines.
	Spot bool
}

// Conflicts lists what of properties contradicts the settings of a pool, where it is not
// plain that these win.
func Conflicts(p *compute.InstanceProperties, pool Pool) Problems {
	var out Problems
	refuse := func(at, hint, format string, args ...any) {
		out = append(out, Problem{at, fmt.Sprintf(format, args...), hint})
	}
	for _, zone := range Zones(p) {
		for _, other := range pool.Zones {
			if other != zone {
				refuse("disks", "name only "+zone+" as the pool's zone", "are in zone %s, so that machines cannot be in %s", zone, other)
			}
		}
	}
	for _, key := range ReservedLabels() {
		if _, found := p.Labels[key]; found {
			refuse(join("labels", key), "remove it", "is one that machines get anyway")
		}
	}
	for i, item := range listMetadata(p) {
		if slices.Contains(ReservedMetadata(), item.Key) {
			refuse(fmt.Sprintf("metadata.items[%d]", i), "write what machines are to run into provider.startup_script", "%s is one that machines get anyway", item.Key)
		}
	}
	if IsSpot(p.Scheduling) && !pool.Spot {
		refuse("scheduling", "set provider.spot", "spot machines are a setting of the pool")
	}
	if hasOtherAccount(p, pool.Account) {
		refuse("serviceAccounts", "name it here or in provider.service_account", "Google gives a machine one service account")
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

// IsSpot reports whether Google may take a machine back. Preemptible is the older word.
func IsSpot(s *compute.Scheduling) bool {
	return s != nil && (s.Preemptible || s.ProvisioningModel == "SPOT")
}

func listMetadata(p *compute.InstanceProperties) []*compute.MetadataItems {
	if p.Metadata == nil {
		return nil
	}
	return p.Metadata.Items
}
