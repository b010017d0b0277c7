package gcptest

import (
	"slices"
	"strings"
)

// need is a permission that a call requires on a resource.
type need struct {
	permission string
	on         resourceName
}

// checkPermissions returns an error if the caller lacks a permission. The permissions of a method
// are listed in its reference page, under "IAM Permissions".
// https://cloud.google.com/compute/docs/reference/rest/v1
func (c *call) checkPermissions() error {
	for _, n := range c.needs() {
		if !c.may(n.permission, n.on) {
			return refuse(403, "forbidden", "Required '%s' permission for '%s'", n.permission, n.on.path)
		}
	}
	return nil
}

func (c *call) needs() []need {
	switch c.service.Name {
	case "compute":
		return c.computeNeeds()
	case "storage":
		return c.storageNeeds()
	case "cloudresourcemanager":
		return c.projectNeeds()
	case "iam":
		return c.accessNeeds()
	case "secretmanager":
		return c.secretNeeds()
	case "logging":
		return c.logNeeds()
	case "orgpolicy": // https://cloud.google.com/resource-manager/docs/access-control-org
		return []need{{"orgpolicy.policy.get", resourceName{path: "projects/" + c.projectID()}}}
	case "serviceusage":
		return c.serviceNeeds()
	case "monitoring": // https://cloud.google.com/monitoring/access-control
		return []need{{"monitoring.timeSeries.create", resourceName{path: "projects/" + c.projectID()}}}
	}
	return nil
}

// verbOf returns the last segment of a method ID: "insert".
func (c *call) verbOf() string { return c.ID[strings.LastIndexByte(c.ID, '.')+1:] }

// storageNeeds: https://cloud.google.com/storage/docs/access-control/iam-json
func (c *call) storageNeeds() []need {
	out := c.bucketNeeds()
	if name := c.params["bucket"]; name != "" {
		if _, found := c.stores.buckets.get(name); !found {
			return c.needsOfMissing(out)
		}
	}
	return out
}

// needsOfMissing returns the needs of a call on a bucket that does not exist. A caller with the
// permission in a project learns that the bucket does not exist; others are denied access, as to the
// bucket of another project.
// https://cloud.google.com/storage/docs/json_api/v1/status-codes#403-forbidden
func (c *call) needsOfMissing(needs []need) []need {
	return slices.DeleteFunc(needs, func(n need) bool {
		for id := range c.projects {
			on := n.on
			on.path = "projects/" + id
			if c.may(n.permission, on) {
				return true
			}
		}
		return false
	})
}

func (c *call) bucketNeeds() []need {
	collection := strings.Split(c.ID, ".")[1]
	if collection == "objects" {
		return c.objectNeeds()
	}
	permission := map[string]string{
		"insert": "create", "get": "get", "list": "list", "patch": "update", "update": "update", "delete": "delete",
		"getIamPolicy": "getIamPolicy", "setIamPolicy": "setIamPolicy",
	}[c.verbOf()]
	if permission == "" { // testIamPermissions requires no permission
		return nil
	}
	on := bucketResource(c.params["bucket"])
	if project := c.query.Get("project"); project != "" && c.params["bucket"] == "" {
		if p := c.findProject(project); p != nil {
			on = resourceName{path: "projects/" + p.id}
		}
	}
	return []need{{"storage.buckets." + permission, on}}
}

func (c *call) objectNeeds() []need {
	bucket, object := c.params["bucket"], c.params["object"]
	on := objectResource(bucket, object)
	switch c.verbOf() {
	case "insert":
		return c.insertNeeds()
	case "list":
		return []need{{"storage.objects.list", bucketResource(bucket)}}
	case "get", "delete":
		return []need{{"storage.objects." + c.verbOf(), on}}
	case "patch", "update":
		return []need{{"storage.objects.get", on}, {"storage.objects.update", on}}
	case "rewrite":
		to := objectResource(c.params["destinationBucket"], c.params["destinationObject"])
		return []need{{"storage.objects.create", to}, {"storage.objects.get", objectResource(c.params["sourceBucket"], c.params["sourceObject"])}}
	}
	return nil
}

// insertNeeds includes the permission to delete if an object is overwritten.
func (c *call) insertNeeds() []need {
	name := c.query.Get("name")
	if name == "" {
		name = asText(c.sent()["name"])
	}
	if c.upload != nil && c.upload.session != "" {
		if s := c.stores.sessions[c.upload.session]; s != nil {
			name = s.object.Name
		}
	}
	on := objectResource(c.params["bucket"], name)
	out := []need{{"storage.objects.create", on}}
	if _, found := c.stores.objects.get(c.params["bucket"] + "/" + name); found {
		out = append(out, need{"storage.objects.delete", on})
	}
	return out
}

// projectNeeds: https://cloud.google.com/resource-manager/docs/access-control-proj
func (c *call) projectNeeds() []need {
	switch c.verbOf() {
	case "get", "getIamPolicy", "setIamPolicy":
		return []need{{"resourcemanager.projects." + c.verbOf(), resourceName{path: "projects/" + c.projectID()}}}
	}
	return nil
}

// projectID returns the project ID of the request, which may name the project by ID or number.
func (c *call) projectID() string {
	if p := c.projectOf(); p != nil {
		return p.id
	}
	return c.params["projectsId"]
}

// accessNeeds: https://cloud.google.com/iam/docs/permissions-reference
func (c *call) accessNeeds() []need {
	project := resourceName{path: "projects/" + c.projectID()}
	verb := c.verbOf()
	if verb == "testIamPermissions" || strings.HasPrefix(c.ID, "iam.roles.") {
		return nil
	}
	if verb == "patch" {
		verb = "update"
	}
	if strings.HasPrefix(c.ID, "iam.projects.roles.") {
		return []need{{"iam.roles." + verb, project}}
	}
	on := project
	if a, err := c.findAccount(); err == nil {
		on = resourceName{path: a.Name, kind: "iam.googleapis.com/ServiceAccount"}
	}
	return []need{{"iam.serviceAccounts." + verb, on}}
}
