package kube

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Call is a call of the Kubernetes API, with the terms of a Role.
type Call struct {
	// Verb is "get", "list", "watch", "create", "update", "patch", "delete" or "deletecollection".
	Verb string
	// Group is the API group, or empty for the core group.
	Group string
	// Resource is the plural, with the subresource: "pods", "pods/log".
	Resource string
	// Namespace is empty for resources that are not namespaced.
	Namespace string
	// Name is empty for lists.
	Name string
}

// String returns the operation: "k8s:create deployments".
func (c Call) String() string {
	if c.Resource == "" {
		return "k8s:" + c.Verb
	}
	return "k8s:" + c.Verb + " " + c.Resource
}

// Object returns the object of the call: "lab/determined-master", or "" without a name.
func (c Call) Object() string {
	switch {
	case c.Name == "":
		return ""
	case c.Namespace == "":
		return c.Name
	}
	return c.Namespace + "/" + c.Name
}

// qualifiedResource returns the resource in the format of `kubectl auth can-i`: "deployments.apps".
func (c Call) qualifiedResource() string {
	name, sub, found := strings.Cut(c.Resource, "/")
	if c.Group != "" {
		name += "." + c.Group
	}
	if found {
		name += "/" + sub
	}
	return name
}

// callOf parses a request. A request that does not address a resource only has a verb, which
// includes the path.
func callOf(req *http.Request) Call {
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	var c Call
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		c.Group, parts = parts[1], parts[3:]
	default:
		return Call{Verb: strings.ToLower(req.Method) + " " + req.URL.Path}
	}
	if len(parts) > 2 && parts[0] == "namespaces" && !namespaceSub(parts[2]) {
		c.Namespace, parts = parts[1], parts[2:]
	}
	c.Resource = parts[0]
	if len(parts) > 1 {
		c.Name = parts[1]
	}
	if len(parts) > 2 {
		c.Resource += "/" + parts[2]
	}
	c.Verb = verbOf(req.Method, req.URL.Query(), c.Name)
	return c
}

// namespaceSub reports whether the path element after a namespace's name is a subresource of the
// namespace rather than a resource in it.
func namespaceSub(s string) bool { return s == "status" || s == "finalize" }

func verbOf(method string, q url.Values, name string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if name == "" {
			return "deletecollection"
		}
		return "delete"
	}
	switch {
	case isTrue(q.Get("watch")):
		return "watch"
	case name == "":
		return "list"
	}
	return "get"
}

func isTrue(s string) bool { return s == "true" || s == "1" }

// mayChange reports whether a request may change state. It returns true for unknown requests.
func mayChange(req *http.Request, c Call) bool {
	_, sub, _ := strings.Cut(c.Resource, "/")
	if sub == "exec" || sub == "attach" {
		return true // with any method
	}
	if sub == "portforward" {
		return false
	}
	if req.Method == http.MethodGet || req.Method == http.MethodHead || req.Method == http.MethodOptions {
		return false
	}
	if slices.Equal(req.URL.Query()["dryRun"], []string{"All"}) {
		return false
	}
	return req.Method != http.MethodPost || !slices.Contains(reviewResources(), c.Resource)
}

// reviewResources returns the resources whose creation is a query and stores nothing.
func reviewResources() []string {
	return []string{
		"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews",
		"subjectaccessreviews", "localsubjectaccessreviews", "tokenreviews",
	}
}

// isFollowed reports whether the response is a stream without a time limit.
func isFollowed(req *http.Request, c Call) bool {
	_, sub, _ := strings.Cut(c.Resource, "/")
	return c.Verb == "watch" || isTrue(req.URL.Query().Get("follow")) || slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, sub)
}
