package facts

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
)

// customForm matches a custom machine type with family, vCPUs and MiB: "n2-custom-4-16384".
var customForm = regexp.MustCompile(`^(?:([a-z][a-z0-9]*)-)?custom-([1-9][0-9]{0,2})-([1-9][0-9]{2,6})(?:-ext)?$`)

// customType parses a custom machine type. Google lists no custom types: a zone supports them if it
// offers the family. Listed are types that every zone with the family offers.
func customType(name string) (vcpu, memory int, listed []string, custom bool) {
	m := customForm.FindStringSubmatch(name)
	if m == nil {
		return 0, 0, nil, false
	}
	vcpu, _ = strconv.Atoi(m[2])   // the pattern matches digits only
	memory, _ = strconv.Atoi(m[3]) // as above
	family := cmp.Or(m[1], "n1")
	return vcpu, memory, []string{family + "-standard-2", family + "-standard-4"}, true
}

// listedNames returns the machine types whose presence in a zone's list shows that the zone offers
// a machine.
func listedNames(t machinetype.Type) []string {
	if _, _, listed, custom := customType(t.MachineType); custom {
		return listed
	}
	return []string{t.MachineType}
}

// findListed returns the listed machine type by which a zone offers a machine, adapted to that
// machine.
func findListed(w machinetype.Type, all []*compute.MachineType) (m *compute.MachineType, found bool) {
	names := listedNames(w)
	i := slices.IndexFunc(all, func(m *compute.MachineType) bool { return slices.Contains(names, m.Name) && isOffered(m.Deprecated) })
	if i < 0 {
		return nil, false
	}
	vcpu, memory, _, custom := customType(w.MachineType)
	if !custom {
		return all[i], true
	}
	own := *all[i]
	own.Name, own.GuestCpus, own.MemoryMb = w.MachineType, int64(vcpu), int64(memory)
	return &own, true
}
