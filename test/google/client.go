package googletest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Client is one of Google's own clients.
type Client struct {
	// Name is what it is called.
	Name string
	// Kinds are the kinds of objects that Owned asks it for. gcloud is a process for each.
	Kinds []string
	read  func(t testing.TB, sites []Site, lists []List) []Lists
}

// List is a list of Compute Engine, over all zones and regions.
type List struct {
	// Name is Google's: "instances".
	Name string
	// Filter leaves objects out; empty leaves none.
	Filter string
}

// Lists are the objects of lists, by their names.
type Lists map[string][]Object

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

// newLibrary is one of Google's libraries for Python.
func newLibrary(name string) Client {
	kinds := slices.Sorted(maps.Values(markedLists("")))
	return Client{name, kinds, func(t testing.TB, sites []Site, lists []List) (out []Lists) {
		t.Helper()
		input := map[string][][2]string{"sites": {}, "lists": {}}
		for _, s := range sites {
			input["sites"] = append(input["sites"], [2]string{s.URL, s.Token})
		}
		for _, l := range lists {
			input["lists"] = append(input["lists"], [2]string{l.Name, l.Filter})
		}
		program{script: "read_lists.py", args: []string{name, gcptest.Project}, input: input}.runScript(t, &out)
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

// Owned are the objects of Compute Engine that carry a cluster's mark at each of some
// places, as this client shows them: "instance/det-lab-master", sorted. Boot disks go with
// their machines. Where the client is not installed, the test is skipped.
func (c Client) Owned(t testing.TB, cluster string, sites ...Site) [][]string {
	t.Helper()
	lists, kinds := []List{}, make(map[string]string)
	for l, kind := range markedLists(cluster) {
		if slices.Contains(c.Kinds, kind) {
			lists, kinds[l.Name] = append(lists, l), kind
		}
	}
	var out [][]string
	for _, found := range c.read(t, sites, lists) {
		out = append(out, found.owned(cluster, kinds))
	}
	if len(out) != len(sites) {
		t.Fatalf("%s has read %d places, want %d", c.Name, len(out), len(sites))
	}
	return out
}

func (l Lists) owned(cluster string, kinds map[string]string) []string {
	var out []string
	for list, objects := range l {
		for _, o := range objects {
			boots := list == "disks" && slices.ContainsFunc(l["instances"], func(i Object) bool { return i.Name == o.Name })
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
