package gcptest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/api/compute/v1"

	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// launchSpot creates a Spot VM with metadata, a second disk and a service account.
func launchSpot(t *testing.T, w *gcptest.World) (name string) {
	t.Helper()
	const zone = "us-west1-b"
	w.GiveDisk(gcptest.Project, zone, "second", 500)
	script, restart := "#!/bin/sh\necho hello", false
	c := made[*compute.Service](t)(compute.NewService(t.Context(), asOwner(w)))
	_, err := c.Instances.Insert(gcptest.Project, zone, &compute.Instance{
		Name: "one", MachineType: "zones/" + zone + "/machineTypes/n1-standard-8", Tags: &compute.Tags{Items: []string{"a", "b"}},
		Metadata: &compute.Metadata{Items: []*compute.MetadataItems{{Key: "startup-script", Value: &script}}},
		Disks: []*compute.AttachedDisk{
			{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian}},
			{Source: "zones/" + zone + "/disks/second", Mode: "READ_ONLY"},
		},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
		ServiceAccounts:   []*compute.ServiceAccount{{Email: "default", Scopes: []string{"https://www.googleapis.com/auth/compute"}}},
		Scheduling:        &compute.Scheduling{ProvisioningModel: "SPOT", AutomaticRestart: &restart},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	return "one"
}

// ask sends a request to the metadata server of the instance, like Google's libraries.
func ask(t *testing.T, w *gcptest.World, name, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://metadata.google.internal"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Metadata-Flavor", "Google")
	answer, err := gcptest.InProcess(w.Metadata(gcptest.Project, "us-west1-b", name)).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

func TestMetadataOfAMachine(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	name := launchSpot(t, w)
	const base = "/computeMetadata/v1/"
	for path, want := range map[string]string{
		"/":                                                                 "computeMetadata/\n",
		base + "instance/name":                                              "one",
		base + "instance/zone":                                              "projects/415104041262/zones/us-west1-b",
		base + "instance/machine-type":                                      "projects/415104041262/machineTypes/n1-standard-8",
		base + "instance/image":                                             gcptest.ImageDebian,
		base + "instance/tags":                                              `["a","b"]`,
		base + "instance/preempted":                                         "FALSE",
		base + "instance/maintenance-event":                                 "NONE",
		base + "instance/scheduling/preemptible":                            "TRUE",
		base + "instance/disks/":                                            "0/\n1/",
		base + "instance/disks/1/mode":                                      "READ_ONLY",
		base + "instance/attributes/":                                       "startup-script",
		base + "instance/service-accounts/default/scopes":                   "https://www.googleapis.com/auth/compute",
		base + "instance/attributes/?recursive=true&alt=json":               `{"startup-script":"#!/bin/sh\necho hello"}`,
		base + "instance/scheduling/?recursive=true":                        `{"automaticRestart":"FALSE","onHostMaintenance":"TERMINATE","preemptible":"TRUE"}`,
		base + "project/numeric-project-id":                                 "415104041262",
		base + "universe/universe-domain":                                   "googleapis.com",
		base + "instance/network-interfaces/0/access-configs/0/external-ip": "",
		base + "instance/preempted?wait_for_change=true&timeout_sec=1&last_etag=old": "FALSE",
	} {
		if status, got := ask(t, w, name, path); status != http.StatusOK || got != want {
			t.Errorf("%s: got %d %q, want %q", path, status, got, want)
		}
	}
	for path, want := range map[string]int{
		"instance/attributes/nothing": 404, "instance/disks": 301, "instance/disks/2/mode": 404, "instance/name/more": 404,
		"instance/service-accounts/other@example.com/token": 404, "instance/service-accounts/default/identity": 400,
	} {
		if status, got := ask(t, w, name, base+path); status != want {
			t.Errorf("%s: got %d %q, want %d", path, status, got, want)
		}
	}
}

// The token of an instance is restricted to its access scopes.
func TestInstanceUsesItsServiceAccount(t *testing.T) {
	t.Parallel()
	w := gcptest.New(t, gcptest.Options{})
	name := launchSpot(t, w)
	_, text := ask(t, w, name, "/computeMetadata/v1/instance/service-accounts/default/token")
	var answer struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
		Life  int    `json:"expires_in"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.Type != "Bearer" || answer.Life < 3000 {
		t.Fatalf("got %s: %v", text, err)
	}
	for url, want := range map[string]int{
		"https://compute.googleapis.com/compute/v1/projects/acme-ml/zones/us-west1-b/instances/one": http.StatusOK,
		"https://storage.googleapis.com/storage/v1/b?project=acme-ml":                               http.StatusForbidden,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+answer.Token)
		out, err := w.Client("").Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = out.Body.Close()
		if out.StatusCode != want {
			t.Errorf("%s: got %s, want %d", url, out.Status, want)
		}
	}
}

// A request that waits for a change returns when the value changes, and not earlier.
func TestMetadataWaitForChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := gcptest.New(t, gcptest.Options{})
		name := launchSpot(t, w)
		got := make(chan string, 2)
		for _, key := range []string{"preempted", "maintenance-event"} {
			go func() {
				status, text := ask(t, w, name, "/computeMetadata/v1/instance/"+key+"?wait_for_change=true")
				got <- fmt.Sprint(status, " ", text)
			}()
		}
		synctest.Wait()
		select {
		case text := <-got:
			t.Fatalf("got %q before there was a change", text)
		default:
		}
		w.AnnounceMaintenance(gcptest.Project, "us-west1-b", name, "TERMINATE_ON_HOST_MAINTENANCE")
		if text := <-got; text != "200 TERMINATE_ON_HOST_MAINTENANCE" {
			t.Errorf("got %q", text)
		}
		w.Preempt(gcptest.Project, "us-west1-b", name)
		if text := <-got; !strings.HasSuffix(text, "TRUE") {
			t.Errorf("got %q", text)
		}
	})
}
