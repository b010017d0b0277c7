package kube

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestACallIsReadFromItsRequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, method, url string
		want              Call
		changes           bool
	}{
		{"list pods", "GET", "/api/v1/namespaces/lab/pods?limit=5", Call{Verb: "list", Resource: "pods", Namespace: "lab"}, false},
		{"list pods everywhere", "GET", "/api/v1/pods", Call{Verb: "list", Resource: "pods"}, false},
		{"watch pods", "GET", "/api/v1/namespaces/lab/pods?watch=true", Call{Verb: "watch", Resource: "pods", Namespace: "lab"}, false},
		{"follow a log", "GET", "/api/v1/namespaces/lab/pods/a/log?follow=true", Call{Verb: "get", Resource: "pods/log", Namespace: "lab", Name: "a"}, false},
		{"make a Deployment", "POST", "/apis/apps/v1/namespaces/lab/deployments", Call{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "lab"}, true},
		{"try to make one", "POST", "/apis/apps/v1/namespaces/lab/deployments?dryRun=All", Call{Verb: "create", Group: "apps", Resource: "deployments", Namespace: "lab"}, false},
		{"patch", "PATCH", "/apis/apps/v1/namespaces/lab/deployments/a", Call{Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "lab", Name: "a"}, true},
		{"scale", "PUT", "/apis/apps/v1/namespaces/lab/deployments/a/scale", Call{Verb: "update", Group: "apps", Resource: "deployments/scale", Namespace: "lab", Name: "a"}, true},
		{"delete", "DELETE", "/api/v1/namespaces/lab/secrets/a", Call{Verb: "delete", Resource: "secrets", Namespace: "lab", Name: "a"}, true},
		{"delete many", "DELETE", "/api/v1/namespaces/lab/pods", Call{Verb: "deletecollection", Resource: "pods", Namespace: "lab"}, true},
		{"a namespace", "GET", "/api/v1/namespaces/lab", Call{Verb: "get", Resource: "namespaces", Name: "lab"}, false},
		{"finalize one", "PUT", "/api/v1/namespaces/lab/finalize", Call{Verb: "update", Resource: "namespaces/finalize", Name: "lab"}, true},
		{"a node", "GET", "/api/v1/nodes/n1", Call{Verb: "get", Resource: "nodes", Name: "n1"}, false},
		{"may I", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Call{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, false},
		{"exec by websocket", "GET", "/api/v1/namespaces/lab/pods/a/exec", Call{Verb: "get", Resource: "pods/exec", Namespace: "lab", Name: "a"}, true},
		{"forward a port", "POST", "/api/v1/namespaces/lab/pods/a/portforward", Call{Verb: "create", Resource: "pods/portforward", Namespace: "lab", Name: "a"}, false},
		{"the version", "GET", "/version", Call{Verb: "get /version"}, false},
		{"what is offered", "GET", "/apis/apps/v1", Call{Verb: "get /apis/apps/v1"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "https://k8s.example"+tc.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			got := callOf(req)
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
			if changes := mayChange(req, got); changes != tc.changes {
				t.Errorf("got %t for whether it changes something, want %t", changes, tc.changes)
			}
		})
	}
}
