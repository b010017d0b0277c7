package gcptest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// An invalid request fails the test with a specific message.
func TestRequestsAreValidated(t *testing.T) {
	t.Parallel()
	const instances = "/compute/v1/projects/acme-ml/zones/us-west1-b/instances"
	cases := []struct {
		name, method, host, path, body, want string
	}{
		{"unknown property", "POST", "compute", instances, `{"bogus":1}`, "bogus: unknown property"},
		{"nested unknown property", "POST", "compute", instances, `{"disks":[{"sizeGb":"1"}]}`, "disks[0].sizeGb: unknown property"},
		{"number for a text", "POST", "compute", instances, `{"disks":[{"diskSizeGb":200}]}`, "disks[0].diskSizeGb: want string (int64)"},
		{"text for a boolean", "POST", "compute", instances, `{"canIpForward":"yes"}`, "canIpForward: want boolean"},
		{"pattern", "POST", "compute", instances, `{"name":"UPPER"}`, `name: "UPPER" does not match`},
		{"enum", "POST", "compute", instances, `{"scheduling":{"provisioningModel":"CHEAP"}}`, `"CHEAP" is none of`},
		{"required property", "POST", "compute", "/compute/v1/projects/acme-ml/global/firewalls", `{"network":"x"}`, "name: is required"},
		{"list for an object", "POST", "compute", instances, `{"labels":["a"]}`, "labels: want object, is a list"},
		{"unknown query", "GET", "compute", instances + "?zone2=x", "", "zone2: compute.instances.list has no such query parameter"},
		{"number in a query", "GET", "compute", instances + "?maxResults=few", "", "maxResults: want integer"},
		{"required query", "GET", "storage", "/storage/v1/b", "", "project: is required"},
		{"path", "GET", "compute", "/compute/v1/projects/acme-ml/zones/US/instances", "", `zone: "US" does not match`},
		{"unknown method", "GET", "compute", "/compute/v1/projects/acme-ml/zones/us-west1-b/engines", "", "Google has no method GET"},
		{"another service's method", "GET", "iam", "/storage/v1/b", "", "Google has no method GET"},
		{"duration", "POST", "secretmanager", "/v1/projects/acme-ml/secrets?secretId=a", `{"ttl":"soon"}`, "ttl: want string (google-duration)"},
		{"time", "POST", "logging", "/v2/entries:write", `{"entries":[{"timestamp":"today"}]}`, "entries[0].timestamp: want string (google-datetime)"},
		{"body of a method without", "POST", "compute", instances + "/a/stop", `{"discard":true}`, "compute.instances.stop takes no body"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			status := send(t, gcptest.New(r, gcptest.Options{}).Client(""), c.method, "https://"+c.host+".googleapis.com"+c.path, c.body)
			if status < 400 {
				t.Errorf("is answered %d", status)
			}
			if len(r.faults) != 1 || !strings.Contains(r.faults[0], c.want) {
				t.Errorf("got %q, want %q", r.faults, c.want)
			}
		})
	}
}

// Foreign clients may send query parameters that are missing in the documents.
func TestForeignQueriesAreAccepted(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{Foreign: true})
	if status := send(t, w.Client(""), "GET", "https://compute.googleapis.com/compute/v1/projects/acme-ml/zones?returnSomeMore=true", ""); status != 200 {
		t.Errorf("is answered %d", status)
	}
}

func send(t *testing.T, c *http.Client, method, url, body string) int {
	t.Helper()
	r := made[*http.Request](t)(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))
	a := made[*http.Response](t)(c.Do(r))
	defer func() { _ = a.Body.Close() }()
	if _, err := io.ReadAll(a.Body); err != nil {
		t.Fatal(err)
	}
	return a.StatusCode
}

// Responses over a loopback connection equal those in memory.
func TestLoopbackResponsesAreEqual(t *testing.T) {
	t.Parallel()
	w, in := newWorld(t, gcptest.Options{})
	made[*storage.Bucket](t)(in.storage.Buckets.Insert(project, &storage.Bucket{Name: "one"}).Do())
	over := overLoopback(t, w)
	b := made[*storage.Bucket](t)(over.storage.Buckets.Get("one").Do())
	if b.ProjectNumber != gcptest.Number {
		t.Errorf("got %+v", b)
	}
}
