package gcptest

import "google.golang.org/api/compute/v1"

func routers() collection[compute.Router] {
	return collection[compute.Router]{
		name: "routers", kind: "compute#router", table: func(e *engine) *table[compute.Router] { return &e.routers },
		create: createRouter, update: func(_ *call, _, next *compute.Router) error { return checkNATs(next) },
	}
}

func routerActs() map[string]act {
	return routers().acts("insert", "get", "list", "aggregatedList", "delete", "patch")
}

func createRouter(c *call, path string, r *compute.Router) error {
	network := c.pathOf(r.Network)
	if _, found := c.engine.networks.get(network); !found {
		return missingReference("network", r.Network)
	}
	r.Network = linkTo(network)
	if err := checkNATs(r); err != nil {
		return err
	}
	return c.checkQuota(path, "ROUTERS", 1)
}

// checkNATs: https://cloud.google.com/nat/docs/set-up-manage-network-address-translation
func checkNATs(r *compute.Router) error {
	for _, n := range r.Nats {
		if n.Name == "" {
			return wrongField("nats[0].name", "", "A name is required.")
		}
		if n.NatIpAllocateOption == "" || n.SourceSubnetworkIpRangesToNat == "" {
			return wrongField("nats[0]", n.Name, "natIpAllocateOption and sourceSubnetworkIpRangesToNat are required.")
		}
		if (n.SourceSubnetworkIpRangesToNat == "LIST_OF_SUBNETWORKS") != (len(n.Subnetworks) > 0) {
			return wrongField("nats[0].subnetworks", n.Name, "Subnetworks are listed for LIST_OF_SUBNETWORKS and for nothing else.")
		}
	}
	return nil
}
