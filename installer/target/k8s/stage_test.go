package k8s_test

import (
	"context"
	"crypto/rand"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/templates"
	"github.com/det-deploy/det-deploy/test/kubetest"
)

type tree = map[string]any

var shared = kubetest.Share()

// The tests mostly wait for the API server, so that more of them run in parallel than there are
// processors.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	shared.Main(m)
}

// stage is a cluster on a real API server whose pods do not run.
type stage struct {
	t         *testing.T
	file      string
	namespace string
	api       kube.API
	// version is that of the program, and values are those of the cluster.
	version string
	values  chart.Values
	// bucket and claim are the destination of backups; empty is the default.
	bucket, claim string
	// wait makes commands wait for the cluster.
	wait bool
	// as is the user; empty is an administrator.
	as string
	// dir is the directory of the record after the namespace was deleted.
	dir string
	// adopt replaces a release of Determined.
	adopt bool
	// sink receives events; it may be nil.
	sink event.Sink
	// kubectl runs the real kubectl.
	kubectl func(args ...string) string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	c, namespace := shared.Namespace(t)
	return &stage{
		t: t, file: c.Kubeconfig, namespace: namespace, api: c.Client(), kubectl: c.Kubectl, version: "1.0.0",
		values: chart.Values{"imageRegistry": "", "maxSlotsPerPod": 4, "db": tree{"type": "embedded"}, "useNodePortForMaster": true},
	}
}

// installer returns a new installer for each command, as in a new process.
func (s *stage) installer(ctx context.Context) *installer.Installer {
	s.t.Helper()
	gate := new(resource.Gate)
	c := s.open(gate)
	api, err := c.Clientset()
	if err != nil {
		s.t.Fatal(err)
	}
	free, err := s.open(nil).Clientset()
	if err != nil {
		s.t.Fatal(err)
	}
	target := &k8s.Target{
		Cluster: "lab", Namespace: s.namespace, Kube: c, API: api,
		Helm:  k8s.OpenReleases(c, "", nil),
		Chart: templates.Chart(s.version), Values: s.values, Adopt: s.adopt, NoWait: !s.wait, Patience: 500 * time.Millisecond, AnswerLimit: time.Second, BackupBucket: s.bucket, BackupClaim: s.claim, Glance: 200 * time.Millisecond,
	}
	want, err := target.Wants(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return &installer.Installer{
		Cluster: "lab", Platform: "k8s", Settings: map[string]string{}, Release: want,
		Deployment: target, Gate: gate,
		Store:  k8s.Store{Secrets: free.CoreV1().Secrets(s.namespace), Namespace: s.namespace, Cluster: "lab"},
		Holder: record.Holder{Owner: "test", Host: "here", Nonce: rand.Text()},
		Dead:   func(record.Holder) bool { return true },
		Emit:   s.sink,
	}
}

func (s *stage) open(gate *resource.Gate) *kube.Client {
	s.t.Helper()
	c, err := kube.Open(kube.Options{Kubeconfig: s.file, Namespace: s.namespace, As: s.as, Gate: gate})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *stage) plan(ctx context.Context) plan.Plan {
	s.t.Helper()
	p, err := s.installer(ctx).Plan(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *stage) up(ctx context.Context) error {
	in := s.installer(ctx)
	p, err := in.Plan(ctx)
	if err != nil {
		return err
	}
	return in.Up(ctx, p)
}

func (s *stage) down(ctx context.Context, deleteData bool) (installer.Receipt, error) {
	in := s.installer(ctx)
	in.Deployment.(*k8s.Target).Unread = true
	recordAt(in, s.dir)
	p, err := in.PlanDown(ctx, deleteData)
	if err != nil {
		return installer.Receipt{}, err
	}
	return in.Down(ctx, p, deleteData)
}

// apply applies an object in JSON.
func (s *stage) apply(object string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "object.json")
	must(s.t, os.WriteFile(file, []byte(object), 0o600))
	s.kubectl("-n", s.namespace, "apply", "-f", file)
}
