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
	// Name is the name of the client.
	Name string
	// Kinds are the kinds of objects that Owned requests. gcloud needs a process for each.
	Kinds []string
	read  func(t testing.TB, sites []Site, lists []List) []Lists
}

// List is an aggregated list of Compute Engine.
type List struct {
	// Name is Google's name of the collection: "instances".
	Name string
	// Filter selects objects. Empty selects all.
	Filter string
}

// Lists holds the objects of lists by the name of their collection.
type Lists map[string][]Object

// Object is an object as returned by a client.
type Object struct {
	Name        string            `json:"name"`
	SelfLink    string            `json:"selfLink"`
	Description string            `json:"description"`
	Labels      map[string]string `json:"labels"`
}

// Clients returns all clients.
func Clients() []Client {
	gcloud := Client{"gcloud", []string{"address", "disk", "instance", "network"}, readByGcloud}
	return []Client{gcloud, newLibrary("google-cloud-compute"), newLibrary("google-api-python-client")}
}

// newLibrary returns one of Google's Python libraries.
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

// markedLists returns the lists of a cluster's objects. Kinds without labels are listed without a
// filter: their mark is in the description, for which clients have different filters.
func markedLists(cluster string) map[List]string {
	label := "labels.det-deploy-cluster=" + cluster
	return map[List]string{
		{"networks", ""}: "network", {"subnetworks", ""}: "subnetwork", {"firewalls", ""}: "firewall-rule", {"routers", ""}: "router",
		{"addresses", label}: "address", {"disks", label}: "disk", {"instances", label}: "instance",
	}
}

// Owned returns the Compute Engine objects with a cluster's mark at each of the sites, as seen by
// this client: "instance/det-lab-master", sorted. It omits boot disks, which are deleted with their
// instances. It skips the test if the client is not installed.
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
