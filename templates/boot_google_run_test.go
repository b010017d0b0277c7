package templates_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/templates"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// googleMachine is a machine on Google Cloud with a control bucket.
type googleMachine struct {
	t     *testing.T
	world *gcptest.World
	// accountless is the number of metadata requests that fail for lack of a service account.
	accountless       atomic.Int32
	member            string
	metadata, storage *httptest.Server
	home, limit       string
}

// googleBucket is the control bucket.
const googleBucket = "det-deploy-lab-415104041262"

func newGoogleMachine(t *testing.T) *googleMachine {
	t.Helper()
	m := &googleMachine{t: t, world: gcptest.New(t, gcptest.Options{}), home: t.TempDir(), limit: "60"}
	m.member = "serviceAccount:" + m.world.GiveAccount(gcptest.Project, "det-m-lab")
	m.metadata, m.storage = httptest.NewServer(http.HandlerFunc(m.serveMetadata)), httptest.NewServer(m.world)
	t.Cleanup(m.metadata.Close)
	t.Cleanup(m.storage.Close)
	c, err := api.New(t.Context(), m.world.Client(""), api.Options{Project: gcptest.Project, Region: "us-central1"})
	if err != nil {
		t.Fatal(err)
	}
	in := &storage.Bucket{Name: googleBucket, Location: "us-central1", IamConfiguration: &storage.BucketIamConfiguration{
		UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
	}}
	if err := api.Send(t.Context(), c.Storage.Buckets.Insert(c.Project, in)); err != nil {
		t.Fatal(err)
	}
	for _, sum := range hash(program) {
		o := &storage.Object{Bucket: googleBucket, Name: "bin/" + sum + "/det-deploy", ContentType: "application/octet-stream"}
		if _, err := c.Upload(t.Context(), o, bytes.NewReader([]byte(program)), nil); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// mayRead allows the machine to read the bucket.
func (m *googleMachine) mayRead() {
	m.world.Bind("buckets/"+googleBucket, "roles/storage.objectViewer", m.member)
}

// serveMetadata answers only requests with Google's header, which browsers do not send.
func (m *googleMachine) serveMetadata(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Metadata-Flavor") != "Google":
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path != "/computeMetadata/v1/instance/service-accounts/default/token" || m.accountless.Add(-1) >= 0:
		w.WriteHeader(http.StatusNotFound)
	default:
		_, _ = fmt.Fprintf(w, `{"access_token":%q,"expires_in":3599,"token_type":"Bearer"}`, m.world.Token(gcptest.Caller{Member: m.member}))
	}
}

func (m *googleMachine) boot(b interface{ Render() ([]byte, error) }) (console string, ok bool) {
	m.t.Helper()
	data, err := b.Render()
	if err != nil {
		m.t.Fatal(err)
	}
	return runScript(m.t, string(data), m.home, `LIMIT = 1800`, `LIMIT = `+m.limit,
		`http://169.254.169.254/`, m.metadata.URL+"/", `https://storage.googleapis.com`, m.storage.URL)
}

func (m *googleMachine) master() templates.GoogleMasterBoot {
	return templates.GoogleMasterBoot{Cluster: "lab", Bucket: googleBucket, SHA256: hash(program), Disk: "det-data"}
}

func TestAMasterAtGoogleBootsFromItsBucket(t *testing.T) {
	t.Parallel()
	m := newGoogleMachine(t)
	m.mayRead()
	m.accountless.Store(1)
	console, ok := m.boot(m.master())
	wants(t, console, ok, true, "installing the master of cluster lab", "cannot fetch the program yet: this machine has no service account",
		"called with host install --yes --cloud gcp --role master --cluster-id lab --control-bucket "+googleBucket+" --disk-name det-data", "done")
	console, ok = m.boot(m.master())
	wants(t, console, ok, true, "det-deploy: this machine is already the master of a cluster\n")
}

func TestMasterOnGoogleReportsDeniedBucket(t *testing.T) {
	t.Parallel()
	m := newGoogleMachine(t)
	m.limit = "1"
	console, ok := m.boot(m.master())
	wants(t, console, ok, false, "failed; the next boot will retry: could not fetch the program in 0 minutes: 127.0.0.1")
	wants(t, console, ok, false, "cannot fetch the program yet: 127.0.0.1")
	if want := "returned 403 forbidden"; !bytes.Contains([]byte(console), []byte(want)) {
		t.Errorf("got %s, want %s", console, want)
	}
	m.mayRead()
	m.limit = "60"
	console, ok = m.boot(m.master())
	wants(t, console, ok, true, "done")
}

func TestAnAgentAtGoogleBootsFromItsMaster(t *testing.T) {
	t.Parallel()
	m := newGoogleMachine(t)
	master := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(program)) }))
	defer master.Close()
	b := templates.AgentBoot{Cluster: "lab", Master: master.URL, SHA256: hash(program), Logs: "det-deploy-lab", Metrics: true}
	console, ok := m.boot(templates.GoogleAgentBoot{AgentBoot: b})
	wants(t, console, ok, true, "installing an agent of cluster lab",
		"called with host install --yes --cloud gcp --role agent --cluster-id lab --master-url "+master.URL+" --journal-group det-deploy-lab --report-use", "done")
	if _, err := os.Stat(filepath.Join(m.home, "installed")); err != nil {
		t.Error(err)
	}
}
