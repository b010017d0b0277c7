package api_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
)

// machine configures a home directory without credentials and returns it.
func machine(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{
		"GOOGLE_CLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_COMPUTE_REGION", "CLOUDSDK_COMPUTE_ZONE", "CLOUDSDK_ACTIVE_CONFIG_NAME",
		"CLOUDSDK_AUTH_IMPERSONATE_SERVICE_ACCOUNT", "CLOUDSDK_BILLING_QUOTA_PROJECT", "GOOGLE_CLOUD_QUOTA_PROJECT",
		"GOOGLE_APPLICATION_CREDENTIALS", "GCE_METADATA_HOST",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", dir)
	t.Setenv("CLOUDSDK_CONFIG", dir)
	return dir
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// internet handles requests to all hosts below googleapis.com.
type internet struct {
	mu       sync.Mutex
	requests []*http.Request
	tokens   int
}

func (i *internet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.requests = append(i.requests, r)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.Contains(r.URL.Path, "generateAccessToken"):
		fmt.Fprintf(w, `{"accessToken":"as-%s","expireTime":"2126-01-02T15:04:05Z"}`, r.Host)
	case strings.Contains(r.URL.Path, "token"):
		i.tokens++
		fmt.Fprintf(w, `{"access_token":"token-of-%s","token_type":"Bearer","expires_in":3600,"issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}`, strings.Split(r.Host, ":")[0])
	case strings.HasSuffix(r.URL.Path, "/default/email"):
		w.Header().Set("Metadata-Flavor", "Google")
		fmt.Fprint(w, "machine@vision-lab.iam.gserviceaccount.com")
	case strings.HasSuffix(r.URL.Path, "/project/project-id"):
		w.Header().Set("Metadata-Flavor", "Google")
		fmt.Fprint(w, "machines-project")
	default:
		fmt.Fprint(w, `{"name":"x"}`)
	}
}

// last returns the last request with a path that contains part.
func (i *internet) last(part string) *http.Request {
	i.mu.Lock()
	defer i.mu.Unlock()
	for n := len(i.requests) - 1; n >= 0; n-- {
		if strings.Contains(i.requests[n].URL.Path, part) {
			return i.requests[n]
		}
	}
	return nil
}

// connect redirects all connections of this process to a fake internet.
func connect(t *testing.T) (*internet, *httptest.Server) {
	t.Helper()
	in := new(internet)
	secure, plain := httptest.NewTLSServer(in), httptest.NewServer(in)
	t.Cleanup(secure.Close)
	t.Cleanup(plain.Close)
	was := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = was })
	own := was.(*http.Transport).Clone()
	own.Proxy = nil
	own.DialTLSContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		return d.DialContext(ctx, network, secure.Listener.Addr().String())
	}
	http.DefaultTransport = own
	return in, plain
}

func key(t *testing.T) string {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func jsonOf(t *testing.T, v map[string]any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Credentials of every kind are found where Google's libraries find them. Not parallel, because it
// sets environment variables.
func TestCredentialsOfEveryKind(t *testing.T) {
	person := map[string]any{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
	for _, tc := range []struct {
		name                string
		file                func(t *testing.T, dir, url string) map[string]any
		environment         map[string]string
		impersonate         string
		token, quotaProject string
		identity            string
	}{
		{name: "user credentials", file: func(*testing.T, string, string) map[string]any { return person }, token: "token-of-oauth2.googleapis.com", quotaProject: "vision-lab"},
		{
			name: "user credentials with a quota project", token: "token-of-oauth2.googleapis.com", quotaProject: "accounting", identity: "ann@example.com",
			file: func(*testing.T, string, string) map[string]any {
				return map[string]any{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r", "quota_project_id": "accounting", "account": "ann@example.com"}
			},
		},
		{
			name: "user credentials with a quota project from gcloud", token: "token-of-oauth2.googleapis.com", quotaProject: "budget",
			file:        func(*testing.T, string, string) map[string]any { return person },
			environment: map[string]string{"CLOUDSDK_BILLING_QUOTA_PROJECT": "budget"},
		},
		{
			name: "a service account key", token: "token-of-127.0.0.1", identity: "x@keys-project.iam.gserviceaccount.com",
			file: func(t *testing.T, _, url string) map[string]any {
				return map[string]any{
					"type": "service_account", "project_id": "keys-project", "client_email": "x@keys-project.iam.gserviceaccount.com",
					"private_key_id": "1", "private_key": key(t), "token_uri": url + "/token",
				}
			},
		},
		{
			name: "workload identity federation", token: "token-of-127.0.0.1",
			file: func(t *testing.T, dir, url string) map[string]any {
				return map[string]any{
					"type": "external_account", "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/x",
					"subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": url + "/v1/token",
					"credential_source": map[string]any{"file": write(t, dir, "subject", "proof")},
				}
			},
		},
		{name: "the metadata server", environment: map[string]string{"GCE_METADATA_HOST": "URL"}, token: "token-of-127.0.0.1", identity: "machine@vision-lab.iam.gserviceaccount.com"},
		{
			name: "user credentials that impersonate a service account", impersonate: "first@x.iam.gserviceaccount.com,second@x.iam.gserviceaccount.com",
			file: func(*testing.T, string, string) map[string]any { return person }, token: "as-iamcredentials.googleapis.com",
			identity: "second@x.iam.gserviceaccount.com",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := machine(t)
			in, server := connect(t)
			if tc.file != nil {
				t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", write(t, dir, "adc.json", jsonOf(t, tc.file(t, dir, server.URL))))
			}
			for k, v := range tc.environment {
				t.Setenv(k, strings.ReplaceAll(v, "URL", strings.TrimPrefix(server.URL, "http://")))
			}
			c, err := api.Open(t.Context(), api.Options{Project: "vision-lab", Region: "us-central1", Impersonate: tc.impersonate})
			if err != nil {
				t.Fatal(err)
			}
			if in.tokens != 0 {
				t.Errorf("got %d tokens before the first call, want none", in.tokens)
			}
			if _, err := api.Do(t.Context(), c.Compute.Networks.Get(c.Project, "x")); err != nil {
				t.Fatal(err)
			}
			if got, err := c.Identity(t.Context()); got != tc.identity || err != nil {
				t.Errorf("got %q and %v, want to be %q", got, err, tc.identity)
			}
			r := in.last("/networks/x")
			if got := r.Header.Get("Authorization"); got != "Bearer "+tc.token {
				t.Errorf("got %q, want %q", got, tc.token)
			}
			if got := r.Header.Get("X-Goog-User-Project"); got != tc.quotaProject {
				t.Errorf("got quota project %q, want %q", got, tc.quotaProject)
			}
			if tc.impersonate != "" && !strings.Contains(in.last("generateAccessToken").URL.Path, "second@x.iam.gserviceaccount.com") {
				t.Errorf("got %s, want the last of the list", in.last("generateAccessToken").URL)
			}
		})
	}
}

func TestNoRequestWithoutCredentials(t *testing.T) {
	dir := machine(t)
	in, _ := connect(t)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(dir, "none.json"))
	c, err := api.Open(t.Context(), api.Options{Project: "vision-lab", Region: "us-central1"})
	if err != nil {
		t.Fatal(err)
	}
	err = api.Run(t.Context(), c, c.Compute.Networks.Delete(c.Project, "x"))
	wantRefusal(t, err, cloud.Denied, "", "log in with `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS")
	if !strings.HasPrefix(err.Error(), "compute.networks.delete: ") || !strings.Contains(err.Error(), "no credentials: ") || len(in.requests) != 0 {
		t.Errorf("got %q after %d requests, want that there are no credentials", err, len(in.requests))
	}
}

// Project and region are found where gcloud finds them. Not parallel, because it sets environment
// variables.
func TestProjectAndRegion(t *testing.T) {
	const file = "# mine\n[core]\nproject = from-file\naccount = ann@example.com\n\n[compute]\nzone = europe-west4-b\n"
	for _, tc := range []struct {
		name            string
		files           map[string]string
		environment     map[string]string
		given           api.Options
		project, region string
		zone            string
		refusal         string
	}{
		{name: "given", given: api.Options{Project: "given", Region: "us-west1"}, project: "given", region: "us-west1"},
		{name: "gcloud's default configuration", files: map[string]string{"configurations/config_default": file}, project: "from-file", region: "europe-west4", zone: "europe-west4-b"},
		{
			name:    "gcloud's active configuration",
			files:   map[string]string{"configurations/config_default": "[core]\nproject=x\n", "active_config": "work\n", "configurations/config_work": file + "region=asia-east1\n"},
			project: "from-file", region: "asia-east1",
		},
		{
			name: "a configuration named by the environment", environment: map[string]string{"CLOUDSDK_ACTIVE_CONFIG_NAME": "work"},
			files: map[string]string{"active_config": "other", "configurations/config_work": file}, project: "from-file", region: "europe-west4", zone: "europe-west4-b",
		},
		{
			name: "the environment goes before files", environment: map[string]string{"CLOUDSDK_CORE_PROJECT": "from-gcloud", "CLOUDSDK_COMPUTE_REGION": "us-east1"},
			files: map[string]string{"configurations/config_default": file}, project: "from-gcloud", region: "us-east1",
		},
		{
			name: "the libraries' variable goes before gcloud's", environment: map[string]string{"GOOGLE_CLOUD_PROJECT": "from-library", "CLOUDSDK_CORE_PROJECT": "from-gcloud"},
			given: api.Options{Region: "us-west1"}, project: "from-library", region: "us-west1",
		},
		{name: "the machine's project", environment: map[string]string{"GCE_METADATA_HOST": "URL"}, given: api.Options{Region: "us-west1"}, project: "machines-project", region: "us-west1"},
		{name: "neither is required", given: api.Options{AnyRegion: true, AnyProject: true}, environment: map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"}},
		{name: "no region", given: api.Options{Project: "given"}, refusal: "gcp: no region is set"},
		{
			name: "no project", given: api.Options{Region: "us-west1"}, environment: map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": "/nonexistent"},
			refusal: "gcp: no project is set",
		},
		{name: "a damaged configuration", files: map[string]string{"configurations/config_default": "[core]\nproject\n"}, refusal: `config_default: line 2 is neither a section nor a property: "project"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := machine(t)
			_, server := connect(t)
			for name, text := range tc.files {
				write(t, dir, name, text)
			}
			for k, v := range tc.environment {
				t.Setenv(k, strings.ReplaceAll(v, "URL", strings.TrimPrefix(server.URL, "http://")))
			}
			c, err := api.Open(t.Context(), tc.given)
			if tc.refusal != "" {
				if cloud.KindOf(err) != cloud.Invalid || !strings.HasSuffix(err.Error(), tc.refusal) {
					t.Errorf("got %v, want %q, an error of the user's", err, tc.refusal)
				}
				return
			}
			if err != nil || c.Project != tc.project || c.Region != tc.region || c.Zone != tc.zone {
				t.Errorf("got project %q, region %q, zone %q and %v; want %q, %q and %q", c.Project, c.Region, c.Zone, err, tc.project, tc.region, tc.zone)
			}
		})
	}
}

// gcloud's endpoint overrides apply. Not parallel, because it sets environment variables.
func TestServicesElsewhere(t *testing.T) {
	dir := machine(t)
	in, server := connect(t)
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(server.URL, "http://"))
	t.Setenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE", server.URL+"/private/compute/v1/")
	write(t, dir, "configurations/config_default", "[api_endpoint_overrides]\niam = "+server.URL+"/private/\n")
	c, err := api.Open(t.Context(), api.Options{Project: "vision-lab", Region: "us-central1"})
	if err != nil {
		t.Fatal(err)
	}
	for what, ask := range map[string]func() error{
		"/private/compute/v1/projects/vision-lab/global/networks/x": func() error { _, err := api.Do(t.Context(), c.Compute.Networks.Get(c.Project, "x")); return err },
		"/private/v1/projects/vision-lab/roles/x":                   func() error { _, err := api.Do(t.Context(), c.IAM.Projects.Roles.Get(c.RoleName("x"))); return err },
		"/v3/projects/vision-lab":                                   func() error { _, err := api.Do(t.Context(), c.Resources.Projects.Get(c.ProjectName())); return err },
	} {
		if err := ask(); err != nil || in.last(what) == nil {
			t.Errorf("got %v, want a request for %s", err, what)
		}
	}
}
