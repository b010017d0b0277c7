package elastic_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/booter/gcecloud"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	"github.com/det-deploy/det-deploy/test/installed"
	"github.com/det-deploy/det-deploy/test/rest"
)

// beforeSeed precedes a pool of the manual in the configuration of a master whose machines have no
// GPUs here.
const beforeSeed = `bind_ip: 10.200.0.1
data_dir: DIR/master
security:
  tls: auto
  initial_user_password: ` + password + `
task_container_defaults: {image: {cpu: "IMAGE", cuda: "IMAGE"}}
`

// labOnly is added to the pools of the manual in a lab.
const labOnly = `
master_url: ` + address + `
instance_type: {machine_type: n1-standard-4, gpu_num: 0}
cpu_slots_allowed: true
max_idle_agent_period: 30s
`

// withDocker starts Docker, with an image, on the machines of agents.
const withDocker = `[Service]
Type=oneshot
RemainAfterExit=true
ExecStart=/bin/sh -c 'mkdir -p /tmp/image/bin && cp /bin/busybox /tmp/image/bin/ && for name in sh echo ls hostname; do ln -s busybox /tmp/image/bin/$name; done && tar -C /tmp/image -c . | docker import -c "ENV PATH=/bin" - task:latest'
[Unit]
Requires=docker.service
After=docker.service
Before=google-startup-scripts.service
`

// seedPool returns the pool of an example, adapted to a lab.
func seedPool(t *testing.T, c *cluster, example, image string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/examples/" + example)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("DIR", c.dir, "IMAGE", image).Replace(beforeSeed) + string(text) + indent(labOnly)
}

// TestTheSecondDiskOfTheManual runs a master with the configuration of the manual. The master has
// the default service account with the single scope of the manual, and its agents have none.
func TestTheSecondDiskOfTheManual(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, g := prepareGoogle(t, gcecloud.Options{Image: map[string]string{
		"etc/systemd/system/image.service": withDocker, "etc/systemd/system/multi-user.target.d/image.conf": "[Unit]\nWants=image.service\n",
	}})
	g.world.GiveImage(gcptest.Project, "det-agent", "", 30)
	g.world.GiveDisk(gcptest.Project, zoneB, "second", 500)
	writeDisk(t, g.cloud.DiskFile(t, zoneB, "second"))
	g.becomeMaster(t, "default", scopeCompute)
	c.launch(strings.ReplaceAll(seedPool(t, c, "gcp-master.yaml", "task:latest"), "det-lab-project", gcptest.Project))

	out := c.ok("command", "run", "--config-file", "../../docs/examples/gcp-command.yaml", "ls", "-l", "/second")
	if !strings.Contains(out, "images-0001.tar") {
		t.Errorf("got no file of the second disk:\n%s", out)
	}
	id := c.machines(1, time.Minute)[0]
	if i := g.cloud.Find(id); len(i.ServiceAccounts) > 0 || i.Disks[1].Mode != "READ_ONLY" {
		t.Errorf("got %+v, want a machine without an account whose second disk is read", i)
	}
}

// writeDisk writes a disk with one partition that contains a data set.
func writeDisk(t *testing.T, path string) {
	t.Helper()
	const script = `set -e
truncate -s 512M "$0" && echo 'start=2048, type=83' | sfdisk -q "$0"
mkdir "$1" && echo data >"$1/images-0001.tar" && mkfs.ext4 -q -E offset=1048576 -d "$1" "$0" 480M`
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", script, path, filepath.Join(t.TempDir(), "content")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestImagePullFollowsManual runs the container_startup_script of the manual: it installs
// Google's credential helper, which the agent uses to pull an image that only the service account
// of its machine may read.
func TestImagePullFollowsManual(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	helper := credentialHelper(t)
	r := newRegistry(t, "serviceAccount:det-agent@"+gcptest.Project+".iam.gserviceaccount.com")
	c, g := prepareGoogle(t, gcecloud.Options{
		Image: map[string]string{"etc/systemd/system/multi-user.target.d/docker.conf": "[Unit]\nWants=docker.service\n"},
		Names: map[string]http.Handler{
			"gcr.io":     r,
			"github.com": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(helper) }),
		},
	})
	r.world = g.world
	g.world.GiveImage(gcptest.Project, "det-agent", "", 30)
	g.becomeMaster(t, g.masterAccount(), scopeAll)
	text := seedPool(t, c, "gcp-registry-master.yaml", "gcr.io/det-lab-project/task:1")
	c.launch(strings.ReplaceAll(text, "det-lab-project", gcptest.Project))
	out := c.ok("command", "run", "echo", "hello from a private image")
	if !strings.Contains(out, "hello from a private image") {
		t.Errorf("got %s", out)
	}
}

// credentialHelper returns the archive in which Google publishes its helper.
func credentialHelper(t *testing.T) []byte {
	t.Helper()
	program, err := os.ReadFile(installed.File(t, "docker-credential-gcr", "gcr", "docker-credential-gcr"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	if err := w.WriteHeader(&tar.Header{Name: "docker-credential-gcr", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(program); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
