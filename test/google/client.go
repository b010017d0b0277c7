package googletest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/gcptest"
)

// Client is one of Google's own clients.
type Client struct {
	// Name is what it is called.
	Name string
	// Kinds are the kinds of objects that Owned asks it for. gcloud is a process for each.
	Kinds []string
	read  func(t testing.TB, s Site, lists []List) map[string][]Object
}

// List is a list of Compute Engine, over all zones and regions.
type List struct {
	// Name is Google's: "instances".
	Name string
	// Filter leaves objects out; empty leaves none.
	Filter string
}

// Object is what a client shows of an object.
type Object struct {
	Name        string            `json:"name"`
	SelfLink    string            `json:"selfLink"`
	Description string            `json:"description"`
	Labels      map[string]string `json:"labels"`
}

// Clients are all of them.
func Clients() []Client {
	gcloud := Client{"gcloud", []string{"address", "disk", "instance", "network"}, readByGcloud}
	return []Client{gcloud, newLibrary("google-cloud-compute"), newLibrary("google-api-python-client")}
}

// Read returns the objects of each list. Where the client is not installed, the test is
// skipped.
func (c Client) Read(t testing.TB, s Site, lists ...List) map[string][]Object {
	t.Helper()
	return c.read(t, s, lists)
}

// newLibrary is one of Google's libraries for Python.
func newLibrary(name string) Client {
	kinds := slices.Sorted(maps.Values(markedLists("")))
	return Client{name, kinds, func(t testing.TB, s Site, lists []List) (out map[string][]Object) {
		t.Helper()
		pairs := [][2]string{}
		for _, l := range lists {
			pairs = append(pairs, [2]string{l.Name, l.Filter})
		}
		program{script: "read_lists.py", args: []string{name, s.URL, gcptest.Project, s.Token}, input: pairs}.runScript(t, &out)
		return out
	}}
}

// markedLists are the lists of a cluster's objects. Those of kinds without labels are read whole:
// their mark is in the description, for which clients have filters of their own.
func markedLists(cluster string) map[List]string {
	label := "labels.det-deploy-cluster=" + cluster
	return map[List]string{
		{"networks", ""}: "network", {"subnetworks", ""}: "subnetwork", {"firewalls", ""}: "firewall-rule", {"routers", ""}: "router",
		{"addresses", label}: "address", {"disks", label}: "disk", {"instances", label}: "instance",
	}
}

// Owned are the objects of Compute Engine that carry a cluster's mark, as this client
// shows them: "instance/det-lab-master", sorted. Boot disks go with their machines.
func (c Client) Owned(t testing.TB, s Site, cluster string) []string {
	t.Helper()
	lists, kinds := []List{}, make(map[string]string)
	for l, kind := range markedLists(cluster) {
		if slices.Contains(c.Kinds, kind) {
			lists, kinds[l.Name] = append(lists, l), kind
		}
	}
	found := c.Read(t, s, lists...)
	var out []string
	for list, objects := range found {
		for _, o := range objects {
			boots := list == "disks" && slices.ContainsFunc(found["instances"], func(i Object) bool { return i.Name == o.Name })
			if o.isMarked(cluster) && !boots {
				out = append(out, kinds[list]+"/"+o.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

func (o Object) isMarked(cluster string) bool {
	line, _, _ := strings.Cut(o.Description, "\n")
	return o.Labels["det-deploy-cluster"] == cluster || line == "det-deploy-cluster="+cluster
}
