package machine_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/compute/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/gcp/machine"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
	"github.com/det-deploy/det-deploy/cloud/host"
	followtest "github.com/det-deploy/det-deploy/test/contract/follow"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const (
	zone = "us-west1-b"
	name = "det-lab-gpu-1"
)

// lab is an instance in a project with the permissions of an agent.
type lab struct {
	world *gcptest.World
	// owner makes calls that the instance may not.
	owner  api.Clients
	member string
	// away disables the metadata server, and asked counts token requests.
	away  atomic.Bool
	asked atomic.Int32
	log   bytes.Buffer
}

func newLab(t *testing.T, o gcptest.Options) *lab {
	t.Helper()
	l := &lab{world: gcptest.New(t, o)}
	var err error
	l.owner, err = api.New(t.Context(), l.world.Client(""), api.Options{Project: gcptest.Project, Region: "us-west1"})
	must(t, err)
	email := l.world.GiveAccount(gcptest.Project, "det-a-lab")
	l.member = "serviceAccount:" + email
	must(t, api.Send(t.Context(), l.owner.IAM.Projects.Roles.Create(l.owner.ProjectName(), &iam.CreateRoleRequest{RoleId: "agents", Role: &iam.Role{
		Title: "agents", Stage: "GA", IncludedPermissions: identity.AgentPermissions(),
	}})))
	l.world.Bind("projects/"+gcptest.Project, "projects/"+gcptest.Project+"/roles/agents", l.member)
	restart := false
	must(t, api.Run(t.Context(), l.owner, l.owner.Compute.Instances.Insert(l.owner.Project, zone, &compute.Instance{
		Name: name, MachineType: "zones/" + zone + "/machineTypes/n1-standard-8",
		Disks: []*compute.AttachedDisk{
			{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian}},
		},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
		ServiceAccounts:   []*compute.ServiceAccount{{Email: email, Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}}},
		Scheduling:        &compute.Scheduling{ProvisioningModel: "SPOT", AutomaticRestart: &restart},
	})))
	return l
}

// server returns the instance's metadata server.
func (l *lab) server() metadata.Server {
	of := gcptest.InProcess(l.world.Metadata(gcptest.Project, zone, name))
	return metadata.Server{URL: metadata.DefaultURL, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if l.away.Load() {
			return nil, errors.New("no route to host")
		}
		if strings.HasSuffix(r.URL.Path, "/token") {
			l.asked.Add(1)
		}
		return of.RoundTrip(r)
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// open opens the cloud as the instance.
func (l *lab) open(t *testing.T) *machine.Cloud {
	t.Helper()
	c, err := machine.Open(t.Context(), machine.Config{
		Metadata: l.server(), Transport: l.world.Transport(gcptest.Caller{Member: "user:nobody@example.com"}),
		Log: slog.New(slog.NewTextHandler(&l.log, nil)),
	})
	must(t, err)
	return c
}

// bubble runs a test with a fake clock, because failed calls are retried after a pause.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestReadIdentity(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	if d := cmp.Diff(l.open(t).Identity(), host.Identity{Instance: name, Region: "us-west1"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	l.away.Store(true)
	_, err := machine.Open(t.Context(), machine.Config{Metadata: l.server()})
	if cloud.KindOf(err) != cloud.Unavailable || !strings.Contains(fmt.Sprint(err), "read this machine's identity") {
		t.Errorf("got %v, want that it cannot be asked", err)
	}
}

func TestProveIdentity(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	p, err := l.open(t).Prover()(t.Context(), "lab")
	if err != nil || p.Instance != name || p.Kind != attest.KindToken || len(p.Data) == 0 {
		t.Errorf("got %+v, %v; want a token of this machine", p, err)
	}
}

const controlBucket = "det-deploy-lab-415104041262"

// giveBucket creates the control bucket and grants the instance a role on it.
func (l *lab) giveBucket(t *testing.T) {
	t.Helper()
	must(t, api.Send(t.Context(), l.owner.Storage.Buckets.Insert(l.owner.Project, &storage.Bucket{Name: controlBucket, Location: "us-west1", IamConfiguration: &storage.BucketIamConfiguration{
		UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
	}})))
	l.world.Bind("buckets/"+controlBucket, "roles/storage.objectUser", l.member)
}

func TestTheControlBucket(t *testing.T) {
	t.Parallel()
	l := newLab(t, gcptest.Options{})
	l.giveBucket(t)
	b := l.open(t).Bucket(controlBucket)
	followtest.Bucket(t, b)
	if _, _, err := b.Changed(t.Context(), "manifest.json", "x"); err == nil {
		t.Error("got no error for a mark that is no generation")
	}
	if l.asked.Load() != 1 {
		t.Errorf("got %d questions for a token, want one for all calls", l.asked.Load())
	}
}
