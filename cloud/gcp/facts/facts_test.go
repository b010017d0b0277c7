package facts_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const region = "us-central1"

func of(t *testing.T, w *gcptest.World) facts.Facts {
	t.Helper()
	c, err := api.New(t.Context(), w.Client(""), api.Options{Project: gcptest.Project, Region: region})
	must(t, err)
	return facts.Facts{Clients: c}
}

// edited modifies Google's responses by the path of their request.
type edited map[string]func(body string) (status int, text string)

// edit returns facts with modified responses.
func edit(t *testing.T, w *gcptest.World, e edited) facts.Facts {
	t.Helper()
	c, err := api.New(t.Context(), &http.Client{Transport: &editor{w.Transport(gcptest.Caller{}), e}}, api.Options{Project: gcptest.Project, Region: region})
	must(t, err)
	return facts.Facts{Clients: c}
}

type editor struct {
	next    http.RoundTripper
	answers edited
}

func (e *editor) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := e.next.RoundTrip(r)
	change := e.answers[r.URL.Path]
	if err != nil || change == nil {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	var text string
	res.StatusCode, text = change(string(body))
	res.Body = io.NopCloser(strings.NewReader(text))
	return res, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantRefusal(t *testing.T, err error, kind cloud.Kind, text string) {
	t.Helper()
	if cloud.KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v (%s), want %s containing %q", err, cloud.KindOf(err), kind, text)
	}
}

// Which service returns the project number depends on the enabled APIs and the caller's
// permissions.
func TestProjectNumber(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]edited{
		"by Resource Manager": {},
		"by Service Usage": {"/v3/projects/" + gcptest.Project: func(string) (int, string) {
			return http.StatusForbidden, `{"error":{"code":403,"message":"no","status":"PERMISSION_DENIED"}}`
		}},
	} {
		got, err := edit(t, gcptest.New(t, gcptest.Options{}), answers).Caller(t.Context())
		if want := (facts.Caller{Project: gcptest.Project, Number: gcptest.Number}); err != nil || got != want {
			t.Errorf("%s: got %v and %v, want %v", name, got, err, want)
		}
	}
}

func TestProjectBeingDeleted(t *testing.T) {
	t.Parallel()
	f := edit(t, gcptest.New(t, gcptest.Options{}), edited{"/v3/projects/" + gcptest.Project: func(string) (int, string) {
		return http.StatusOK, `{"name":"projects/1","state":"DELETE_REQUESTED"}`
	}})
	_, err := f.Caller(t.Context())
	wantRefusal(t, err, cloud.Invalid, "being deleted")
}

func TestZones(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	f := of(t, w)
	got, err := f.Zones(t.Context())
	if diff := cmp.Diff(got, []string{"us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"}); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
	down := edit(t, w, edited{"/compute/v1/projects/" + gcptest.Project + "/zones": func(body string) (int, string) {
		var all compute.ZoneList
		must(t, json.Unmarshal([]byte(body), &all))
		for _, z := range all.Items {
			if z.Name == "us-central1-f" {
				z.Status = "DOWN"
			}
		}
		text, err := json.Marshal(&all)
		must(t, err)
		return http.StatusOK, string(text)
	}})
	if got, err = down.Zones(t.Context()); err != nil || slices.Contains(got, "us-central1-f") {
		t.Errorf("got %v and %v, want no zone that is out of order", got, err)
	}
	f.Clients.Region = "moon-east1"
	_, err = f.Zones(t.Context())
	wantRefusal(t, err, cloud.Invalid, "no such region")
	regions, err := f.Regions(t.Context())
	if err != nil || !slices.Contains(regions, region) {
		t.Errorf("got %v and %v, want %s among them", regions, err, region)
	}
}

func TestMachineTypesByZone(t *testing.T) {
	t.Parallel()
	zones := []string{"us-central1-a", "us-central1-b", "us-central1-c", "us-central1-f"}
	wanted := []machinetype.Type{
		{MachineType: "n2-standard-2"},
		{MachineType: "a2-ultragpu-1g"},
		{MachineType: "n1-standard-8", GPUType: "nvidia-tesla-p100", GPUs: 2},
		{MachineType: "n1-standard-8", GPUType: "nvidia-tesla-k80", GPUs: 1},
		{MachineType: "t2a-standard-4"},
		{MachineType: "z9-standard-1"},
		{MachineType: "n2-custom-6-20480"},
		{MachineType: "custom-4-8192-ext", GPUType: "nvidia-tesla-p100", GPUs: 1},
		{MachineType: "z9-custom-4-8192"},
	}
	for _, o := range []gcptest.Options{{}, {IgnoreFilters: true}} {
		got, err := of(t, gcptest.New(t, o)).Types(t.Context(), zones, wanted...)
		must(t, err)
		amd, arm := []string{"amd64"}, []string{"arm64"}
		want := map[string]facts.Type{
			"n2-standard-2":                         {"n2-standard-2", 2, 8 << 10, 0, "", amd, zones},
			"a2-ultragpu-1g":                        {"a2-ultragpu-1g", 12, 170 << 10, 1, "nvidia-a100-80gb", amd, []string{"us-central1-a", "us-central1-c"}},
			"n1-standard-8+2xnvidia-tesla-p100":     {"n1-standard-8+2xnvidia-tesla-p100", 8, 30 << 10, 2, "nvidia-tesla-p100", amd, []string{"us-central1-c", "us-central1-f"}},
			"n1-standard-8+1xnvidia-tesla-k80":      {"n1-standard-8+1xnvidia-tesla-k80", 8, 30 << 10, 1, "nvidia-tesla-k80", amd, nil},
			"n2-custom-6-20480":                     {"n2-custom-6-20480", 6, 20480, 0, "", amd, zones},
			"custom-4-8192-ext+1xnvidia-tesla-p100": {"custom-4-8192-ext+1xnvidia-tesla-p100", 4, 8192, 1, "nvidia-tesla-p100", amd, []string{"us-central1-c", "us-central1-f"}},
			"t2a-standard-4":                        {"t2a-standard-4", 4, 16 << 10, 0, "", arm, zones},
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("(-got +want):\n%s", diff)
		}
	}
}

func TestGPUTypesByZone(t *testing.T) {
	t.Parallel()
	got, err := of(t, gcptest.New(t, gcptest.Options{})).GPUTypes(t.Context(), []string{"us-central1-b", "us-central1-f"})
	must(t, err)
	i := slices.IndexFunc(got, func(g facts.GPUType) bool { return g.Name == "nvidia-tesla-p100" })
	if i < 0 || got[i].Most != 4 || !slices.Equal(got[i].Zones, []string{"us-central1-f"}) {
		t.Errorf("got %+v, want P100 in us-central1-f alone, 4 a machine", got)
	}
}

func TestCheckGPUs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		gpu  string
		n    int64
		vcpu int
		want string
	}{
		{"nvidia-tesla-t4", 3, 8, "machines support 1, 2 or 4 of nvidia-tesla-t4"},
		{"nvidia-tesla-v100", 1, 16, "a machine with 1 x nvidia-tesla-v100 has at most 12"},
		{"nvidia-tesla-v100", 2, 16, ""},
		{"nvidia-tesla-new", 3, 96, ""},
	} {
		got := ""
		if err := facts.CheckGPUs(machinetype.Type{MachineType: "n1-standard-8", GPUType: tc.gpu, GPUs: tc.n}, tc.vcpu); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%d x %s with %d vCPUs: got %q, want %q", tc.n, tc.gpu, tc.vcpu, got, tc.want)
		}
	}
}

func TestAPIsAreEnabled(t *testing.T) {
	t.Parallel()
	f := of(t, gcptest.New(t, gcptest.Options{NoServices: true}))
	off, err := f.DisabledAPIs(t.Context(), facts.RequiredAPIs())
	if err != nil || !slices.Contains(off, "compute.googleapis.com") || slices.Contains(off, "cloudresourcemanager.googleapis.com") {
		t.Errorf("got %v and %v, want Compute Engine among those that are off", off, err)
	}
	must(t, f.EnableAPIs(t.Context(), off))
	if _, err := f.Zones(t.Context()); err != nil {
		t.Error(err)
	}
}

// Enabling an API takes a while.
func TestEnableAPIsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := of(t, gcptest.New(t, gcptest.Options{NoServices: true, Operation: time.Minute}))
		must(t, f.EnableAPIs(t.Context(), facts.RequiredAPIs()))
		off, err := f.DisabledAPIs(t.Context(), facts.RequiredAPIs())
		if err != nil || len(off) > 0 {
			t.Errorf("got %v off and %v, want none", off, err)
		}
	})
}

func TestMissingPermissions(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	w.Bind("projects/"+gcptest.Project, "roles/compute.viewer", "user:bob@example.com")
	w.Bind("projects/"+gcptest.Project, "roles/serviceusage.serviceUsageConsumer", "user:bob@example.com")
	c, err := api.New(t.Context(), w.Client("user:bob@example.com"), api.Options{Project: gcptest.Project, Region: region})
	must(t, err)
	many := slices.Repeat([]string{"compute.instances.get"}, 150)
	got, err := (facts.Facts{Clients: c}).MissingInProject(t.Context(), append(many, "compute.instances.create"))
	if diff := cmp.Diff(got, []string{"compute.instances.create"}); diff != "" || err != nil {
		t.Errorf("%v (-got +want):\n%s", err, diff)
	}
}

func TestConstraints(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		c    facts.Constraint
		want facts.Verdict
	}{
		{facts.Constraint{}, facts.Allowed},
		{facts.Constraint{DenyAll: true}, facts.Forbidden},
		{facts.Constraint{Allowed: []string{"x"}}, facts.Allowed},
		{facts.Constraint{Allowed: []string{"y"}}, facts.Forbidden},
		{facts.Constraint{Denied: []string{"is:x"}}, facts.Forbidden},
		{facts.Constraint{Denied: []string{"y"}}, facts.Allowed},
		{facts.Constraint{Allowed: []string{"in:xs"}}, facts.Unclear},
		{facts.Constraint{Allowed: []string{"in:ys", "x"}}, facts.Allowed},
		{facts.Constraint{Denied: []string{"under:folders/1"}}, facts.Unclear},
	} {
		if got := tc.c.Judge("x"); got != tc.want {
			t.Errorf("%+v: got %s, want %s", tc.c, got, tc.want)
		}
	}
}
