package gcptest

import (
	"maps"
	"strings"

	"google.golang.org/api/compute/v1"
)

// engine is Compute Engine, for all projects.
type engine struct {
	networks    table[compute.Network]
	subnetworks table[compute.Subnetwork]
	firewalls   table[compute.Firewall]
	routers     table[compute.Router]
	routes      table[compute.Route]
	addresses   table[compute.Address]
	disks       table[compute.Disk]
	images      table[compute.Image]
	snapshots   table[compute.Snapshot]
	instances   table[machine]

	operations  map[string]*operation // by path
	running     []*operation
	requests    map[string]*operation // by method and requestId
	unreachable map[string]bool       // zones
	stockouts   map[string]stockout   // by zone and type
}

func newEngine(w *World) engine {
	return engine{
		networks: newTable[compute.Network](w), subnetworks: newTable[compute.Subnetwork](w), firewalls: newTable[compute.Firewall](w),
		routers: newTable[compute.Router](w), routes: newTable[compute.Route](w), addresses: newTable[compute.Address](w),
		disks: newTable[compute.Disk](w), images: newTable[compute.Image](w), snapshots: newTable[compute.Snapshot](w), instances: newTable[machine](w),
		operations: make(map[string]*operation), requests: make(map[string]*operation),
		unreachable: make(map[string]bool), stockouts: make(map[string]stockout),
	}
}

// allActs returns the implementations of all supported methods.
func allActs() map[string]act {
	out := make(map[string]act)
	for _, some := range []map[string]act{
		bucketActs(), objectActs(), projectActs(), accountActs(), roleActs(), operationActs(),
		networkActs(), subnetworkActs(), firewallActs(), routerActs(), addressActs(), diskActs(), imageActs(), snapshotActs(),
		secretActs(), logActs(), metricActs(), serviceActs(), constraintActs(), instanceActs(), instanceChangeActs(), instanceReadActs(), zoneActs(), machineTypeActs(), routeActs(),
	} {
		maps.Copy(out, some)
	}
	return out
}

const linkBase = "https://www.googleapis.com/compute/v1/"

func linkTo(path string) string { return linkBase + path }

// pathOf returns the path of a full or partial resource URL: "projects/p/zones/z/disks/d".
// https://cloud.google.com/compute/docs/reference/rest/v1 (partial URLs)
func (c *call) pathOf(link string) string {
	for _, base := range []string{linkBase, "https://compute.googleapis.com/compute/v1/", "https://www.googleapis.com/compute/beta/", "/compute/v1/"} {
		link = strings.TrimPrefix(link, base)
	}
	if c.opt.Foreign { // gcloud builds URLs with its configured endpoint
		link = strings.TrimPrefix(link, "http://"+c.request.Host+"/compute/v1/")
	}
	if !strings.HasPrefix(link, "projects/") {
		return "projects/" + c.projectID() + "/" + link
	}
	parts := strings.SplitN(link, "/", 3)
	if p := c.findProject(parts[1]); p != nil && len(parts) == 3 {
		return "projects/" + p.id + "/" + parts[2]
	}
	return link
}

// scope returns the path prefix of the request's objects: "projects/p/zones/z/".
func (c *call) scope() (string, error) {
	p, err := c.project(c.params["project"])
	if err != nil {
		return "", err
	}
	path := "projects/" + p.id + "/"
	switch zone, region := c.params["zone"], c.params["region"]; {
	case zone != "":
		if _, found := findZone(zone); !found {
			return "", notFound(path + "zones/" + zone)
		}
		return path + "zones/" + zone + "/", nil
	case region != "":
		if !regionExists(region) {
			return "", notFound(path + "regions/" + region)
		}
		return path + "regions/" + region + "/", nil
	}
	return path + "global/", nil
}

// nameOf returns the last segment of a path or URL.
func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// placeOf returns the zone or region of a path, or "".
func placeOf(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) > 3 && parts[2] != "global" {
		return parts[3]
	}
	return ""
}

// regionOf returns the region of a zone: "us-west1" for "us-west1-b".
func regionOf(zone string) string {
	i := strings.LastIndexByte(zone, '-')
	if i < 0 {
		return zone
	}
	return zone[:i]
}

// wrongField returns Compute Engine's error for an invalid value.
// https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
func wrongField(field, value, why string) *refusal {
	return invalid("Invalid value for field 'resource.%s': '%s'. %s", field, value, why)
}

// missingReference returns Compute Engine's error for a reference to a missing resource.
// https://cloud.google.com/compute/docs/troubleshooting/troubleshooting-vm-creation
func missingReference(field, value string) *refusal {
	return refuse(404, "notFound", "Invalid value for field 'resource.%s': '%s'. The referenced resource does not exist.", field, value)
}
