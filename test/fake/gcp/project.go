package gcptest

import (
	"slices"
	"strconv"

	"google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/orgpolicy/v2"
)

// project is a project of the world.
type project struct {
	id       string
	number   uint64
	enabled  map[string]bool    // APIs by name: "compute.googleapis.com"
	quotas   map[string]float64 // limits of the project by metric
	regional map[string]float64 // limits of each region by metric
	// constraints are the organization policies by constraint.
	constraints map[string]*orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule
	// enclosed are the APIs that a perimeter of VPC Service Controls closes to all callers.
	enclosed map[string]bool
}

// AddProject adds a project, such as the host project of a Shared VPC. The owner owns it, too.
func (w *World) AddProject(id string, number uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &project{id: id, number: number, enabled: make(map[string]bool), quotas: projectQuotas(), regional: regionQuotas()}
	for _, api := range knownAPIs() {
		p.enabled[api] = !w.opt.NoServices || api == "serviceusage.googleapis.com" || api == "cloudresourcemanager.googleapis.com"
	}
	w.projects[id] = p
	w.access.setPolicy(w, "projects/"+id, ownerPolicy())
	w.addDefaultAccount(p)
	w.addDefaultNetwork(p)
}

// SetQuota sets a quota in every region of a project, or in the project if the metric is a project
// quota.
func (w *World) SetQuota(projectID, metric string, limit float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.projects[projectID]
	if _, global := p.quotas[metric]; global {
		p.quotas[metric] = limit
		return
	}
	p.regional[metric] = limit
}

// Disable disables an API in a project.
func (w *World) Disable(projectID, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.projects[projectID].enabled[name] = false
}

// Enclose closes an API of a project to all callers by a perimeter of VPC Service Controls.
func (w *World) Enclose(projectID, name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.projects[projectID]
	if p.enclosed == nil {
		p.enclosed = make(map[string]bool)
	}
	p.enclosed[name] = true
}

// project returns a project by its ID or number.
// https://cloud.google.com/resource-manager/reference/rest/v3/projects/get
func (c *call) project(id string) (*project, error) {
	if p := c.findProject(id); p != nil {
		return p, nil
	}
	return nil, refuse(403, "forbidden", "Permission denied on resource project %s.", id)
}

func (w *World) findProject(id string) *project {
	if p := w.projects[id]; p != nil {
		return p
	}
	for _, p := range w.projects {
		if strconv.FormatUint(p.number, 10) == id {
			return p
		}
	}
	return nil
}

// projectOf returns the project of a request, or nil for a request without one, such as a search. A
// request for a bucket need not name its project.
func (c *call) projectOf() *project {
	for _, name := range []string{"project", "projectsId"} {
		if id := c.params[name]; id != "" {
			return c.findProject(id)
		}
	}
	if id := c.query.Get("project"); id != "" {
		return c.findProject(id)
	}
	if b, found := c.stores.buckets.get(c.params["bucket"]); found {
		return c.findProject(strconv.FormatUint(b.ProjectNumber, 10))
	}
	if c.params["v1Id"] == "projects" { // Service Usage supports other kinds of parents
		return c.findProject(c.params["v1Id1"])
	}
	return nil
}

func projectActs() map[string]act {
	return map[string]act{
		"cloudresourcemanager.projects.get":                getProject,
		"cloudresourcemanager.projects.search":             searchProjects,
		"cloudresourcemanager.projects.getIamPolicy":       getProjectPolicy,
		"cloudresourcemanager.projects.setIamPolicy":       setProjectPolicy,
		"cloudresourcemanager.projects.testIamPermissions": testProjectPermissions,
	}
}

func (p *project) describe() *cloudresourcemanager.Project {
	return &cloudresourcemanager.Project{
		Name: "projects/" + strconv.FormatUint(p.number, 10), ProjectId: p.id, DisplayName: p.id,
		State: "ACTIVE", CreateTime: "2024-05-01T09:00:00Z", Etag: etagOf(1),
	}
}

func getProject(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	return p.describe(), nil
}

// searchProjects returns the projects that the caller may see.
// https://cloud.google.com/resource-manager/reference/rest/v3/projects/search
func searchProjects(c *call) (any, error) {
	var items []any
	for _, id := range sortedKeys(c.projects) {
		if c.may("resourcemanager.projects.get", resourceName{path: "projects/" + id}) {
			items = append(items, c.projects[id].describe())
		}
	}
	return c.namedPage("projects", items)
}

func getProjectPolicy(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	return c.readPolicy("projects/" + p.id)
}

func setProjectPolicy(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	return c.writePolicy("projects/" + p.id)
}

func testProjectPermissions(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	return c.testPermissions(resourceName{path: "projects/" + p.id})
}

// ownerPolicy returns the policy of a new project.
func ownerPolicy() *policy {
	return &policy{Version: 1, Bindings: []*binding{{Role: "roles/owner", Members: []string{Owner}}}}
}

// isEnabled reports whether an API is enabled in a project.
func (p *project) isEnabled(api string) bool { return p.enabled[api] }

func knownAPIs() []string {
	names := []string{
		"compute", "storage", "iam", "cloudresourcemanager", "secretmanager", "logging", "monitoring", "serviceusage",
		"storage-api", "iamcredentials", "oslogin", "orgpolicy",
	}
	slices.Sort(names)
	for i := range names {
		names[i] += ".googleapis.com"
	}
	return names
}
