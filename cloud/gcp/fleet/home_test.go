package fleet_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/fleet"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

func homeOf(h http.Handler) fleet.Home {
	return fleet.Home{Metadata: metadata.Server{Transport: gcptest.InProcess(h)}}
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, func(c *fleet.Config) { c.ExternalIP = true })
	name := string(p.launch(t, "one", 1, onDemand(zoneB))[0].ID)
	nic := p.live()[name].NetworkInterfaces[0]
	h := homeOf(p.world.Metadata(gcptest.Project, zoneB, name))
	if got, err := h.Project(t.Context()); got != gcptest.Project || err != nil {
		t.Errorf("project: got %q, %v", got, err)
	}
	if got, err := h.Zone(t.Context()); got != zoneB || err != nil {
		t.Errorf("zone: got %q, %v", got, err)
	}
	if got := h.LabelValue(t.Context()); got != name[:min(30, len(name))] {
		t.Errorf("label: got %q", got)
	}
	for given, want := range map[string]string{
		"":                         "https://" + nic.NetworkIP + ":8443",
		"http://internal-ip:8080":  "http://" + nic.NetworkIP + ":8080",
		"https://external-ip":      "https://" + nic.AccessConfigs[0].NatIP,
		"https://det.example.com/": "https://det.example.com/",
	} {
		if got, err := h.Address(t.Context(), given, "https", 8443); got != want || err != nil {
			t.Errorf("%q: got %q, %v, want %q", given, got, err, want)
		}
	}
}

func TestHomeOutsideOfGoogle(t *testing.T) {
	t.Parallel()
	h := homeOf(http.NotFoundHandler())
	if got := h.LabelValue(t.Context()); got != "determined-ai-determined" {
		t.Errorf("label: got %q", got)
	}
	_, zoneErr := h.Zone(t.Context())
	_, projectErr := h.Project(t.Context())
	_, err := h.Address(t.Context(), "", "https", 8443)
	for want, err := range map[string]error{"provider.zone": zoneErr, "provider.project": projectErr, "provider.master_url": err} {
		e, ok := err.(interface{ Hint() string })
		if !ok || cloud.KindOf(err) != cloud.Invalid || !strings.Contains(e.Hint(), want) {
			t.Errorf("got %v, want a hint of %s", err, want)
		}
	}
	if got, err := h.Address(t.Context(), "https://det.example.com", "https", 8443); got != "https://det.example.com" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// An instance without an external address has no value for it.
func TestMissingExternalAddress(t *testing.T) {
	t.Parallel()
	p := open(t, gcptest.Options{}, nil)
	h := homeOf(p.world.Metadata(gcptest.Project, zoneB, string(p.launch(t, "one", 1, onDemand(zoneB))[0].ID)))
	if got, err := h.Address(t.Context(), "https://external-ip:8443", "https", 8443); cloud.KindOf(err) != cloud.Invalid {
		t.Errorf("got %q, %v", got, err)
	}
}
