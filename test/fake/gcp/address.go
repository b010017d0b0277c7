package gcptest

import (
	"google.golang.org/api/compute/v1"
)

func addresses() collection[compute.Address] {
	return collection[compute.Address]{
		name: "addresses", kind: "compute#address", table: func(e *engine) *table[compute.Address] { return &e.addresses },
		create: createAddress, user: addressUser,
		made: func(a *compute.Address) {
			if a.Status == "RESERVING" {
				a.Status = "RESERVED"
			}
		},
	}
}

func addressActs() map[string]act {
	return addresses().acts("insert", "get", "list", "aggregatedList", "delete", "setLabels")
}

func createAddress(c *call, path string, a *compute.Address) error {
	a.AddressType, a.NetworkTier = orElse(a.AddressType, "EXTERNAL"), orElse(a.NetworkTier, "PREMIUM")
	a.Status, a.IpVersion = "RESERVING", orElse(a.IpVersion, "IPV4")
	if a.AddressType == "EXTERNAL" && a.Address == "" {
		a.Address = c.externalAddress()
	}
	if err := checkLabels(a.Labels); err != nil {
		return err
	}
	return c.checkQuota(path, "STATIC_ADDRESSES", 1)
}

// externalAddress returns an unused address from a documentation or loopback range.
func (w *World) externalAddress() string {
	w.serial++
	network := "203.0.113."
	if w.opt.Loopback {
		network = "127.203.113."
	}
	return network + decimal(int(w.serial%254)+1)
}

func addressUser(_ *World, _ string, a *compute.Address) string {
	if len(a.Users) > 0 {
		return a.Users[0]
	}
	return ""
}

// useAddress marks a static address as used or unused by an instance.
func (w *World) useAddress(ip, machine string, uses bool) {
	for _, a := range w.engine.addresses.all() {
		if a.Address != ip {
			continue
		}
		a.Status, a.Users = "RESERVED", nil
		if uses {
			a.Status, a.Users = "IN_USE", []string{linkTo(machine)}
		}
	}
}

// staticAddress returns a reserved address by its IP address.
func (w *World) staticAddress(ip string) (*compute.Address, bool) {
	for _, a := range w.engine.addresses.all() {
		if a.Address == ip {
			return a, true
		}
	}
	return nil, false
}
