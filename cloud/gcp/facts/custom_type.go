package facts

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
)

// customForm is a custom machine type: its family, vCPUs and MiB: "n2-custom-4-16384".
var customForm = regexp.MustCompile(`^(?:([a-z][a-z0-9]*)-)?custom-([1-9][0-9]{0,2})-([1-9][0-9]{2,6})(?:-ext)?$`)

// customType reads a custom machine type. Google lists none: a zone that has the family has
// those, too. Listed are types of the family that every zone with it has.
func customType(name string) (vcpu, memory int, listed []string, custom bool) {
	m := customForm.FindStringSubmatch(name)
	if m == nil {
		return 0, 0, nil, false
	}
	vcpu, _ = strconv.Atoi(m[2])   // the form says that it is a number
	memory, _ = strconv.Atoi(m[3]) // as above
	family := cmp.Or(m[1], "n1")
	return vcpu, memory, []string{family + "-standard-2", family + "-standard-4"}, true
}

// listedNames are the machine types by which a zone's list shows that it has some machine.
func listedNames(t machinetype.Type) []string {
	if _, _, listed, custom := customType(t.MachineType); custom {
		return listed
	}
	return []string{t.MachineType}
}

// findListed is the type in a zone's list by which it has some machine, as it is for that
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
