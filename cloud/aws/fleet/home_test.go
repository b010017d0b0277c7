package fleet_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/fleet"
)

// home returns a machine with a fake metadata service that requires session tokens.
func home(t *testing.T) fleet.Home {
	t.Helper()
	known := map[string]string{
		"/latest/meta-data/instance-id": "i-1", "/latest/meta-data/local-ipv4": "10.0.0.7", "/latest/meta-data/public-ipv4": "52.0.0.7",
		"/latest/meta-data/local-hostname": "ip-10-0-0-7.ec2.internal", "/latest/dynamic/instance-identity/document": `{"region": "eu-west-1"}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, found := known[r.URL.Path]
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "60")
			fmt.Fprint(w, "token")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "token":
			w.WriteHeader(http.StatusUnauthorized)
		case !found:
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(s.Close)
	return fleet.At(metadata(s.URL))
}

func metadata(url string) *imds.Client {
	return imds.New(imds.Options{Endpoint: url, Retryer: aws.NopRetryer{}, ClientEnableState: imds.ClientEnabled, HTTPClient: &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
	}})
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	h := home(t)
	if got, err := h.Region(t.Context()); got != "eu-west-1" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got := h.TagValue(t.Context()); got != "i-1" {
		t.Errorf("got %s", got)
	}
	for given, want := range map[string]string{
		"":                               "https://10.0.0.7:8443",
		"http://local-ipv4:8080":         "http://10.0.0.7:8080",
		"https://public-ipv4":            "https://52.0.0.7",
		"https://local-hostname:443":     "https://ip-10-0-0-7.ec2.internal:443",
		"http://10.1.1.1:8080":           "http://10.1.1.1:8080",
		"https://master.example.com:443": "https://master.example.com:443",
	} {
		if got, err := h.Address(t.Context(), given, "https", 8443); got != want || err != nil {
			t.Errorf("%q: got %s, want %s, %v", given, got, want, err)
		}
	}
	_, err := h.Address(t.Context(), "http://public-hostname:8080", "https", 8443)
	if cloud.KindOf(err) != cloud.Invalid || !strings.Contains(err.Error(), "public-hostname") {
		t.Errorf("got %v", err)
	}
}

func TestErrorOutsideEC2NamesSetting(t *testing.T) {
	t.Parallel()
	h := fleet.At(metadata("http://127.0.0.1:1"))
	if got := h.TagValue(t.Context()); got != "determined-ai-determined" {
		t.Errorf("got %s", got)
	}
	_, err := h.Region(t.Context())
	if e, ok := err.(interface{ Hint() string }); !ok || !strings.Contains(e.Hint(), "provider.region") {
		t.Errorf("got %v", err)
	}
	_, err = h.Address(t.Context(), "", "http", 8080)
	if e, ok := err.(interface{ Hint() string }); !ok || !strings.Contains(e.Hint(), "provider.master_url") {
		t.Errorf("got %v", err)
	}
}
