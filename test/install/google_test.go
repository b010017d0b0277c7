package install_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/gcecloud"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/rest"
)

// google is a Google Cloud project.
type google struct {
	world *gcptest.World
	cloud *gcecloud.Cloud
}

func (g google) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := g.cloud.Command(ctx, program, args...)
	cmd.Env = append(cmd.Env, "GOOGLE_CLOUD_PROJECT="+gcptest.Project, "CLOUDSDK_COMPUTE_REGION=us-west1")
	return cmd
}

func (google) noun() string { return "gcp" }

func (google) flags() []string {
	return []string{"--master-image", gcptest.ImageDebian, "--agent-image", gcptest.ImageDebian}
}

func (google) address() string { return "203.0.113." }

func (g google) left(testing.TB) []string { return g.world.Live() }

// logIn writes a user's credentials to the file in which gcloud stores them.
func logIn(t *testing.T, home string) {
	t.Helper()
	file := filepath.Join(home, ".config", "gcloud", "application_default_credentials.json")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, gcptest.UserCredentials(gcptest.Owner), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheLifeOfAClusterOnGoogle(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	lab := booter.OpenLab(t)
	world := gcptest.New(t, gcptest.Options{
		Operation: 500 * time.Millisecond, Provisioning: time.Second, Stopping: time.Second,
		NewAccount: 3 * time.Second, PolicyLag: 3 * time.Second, ObjectInterval: time.Second, BucketInterval: 2 * time.Second,
	})
	g := google{world: world, cloud: gcecloud.New(t, lab, world, gcecloud.Options{})}
	booter.Start(t, lab, g.cloud)
	p := &person{t: t, site: g, home: t.TempDir()}
	logIn(t, p.home)
	p.live()
}
