package gcecloud_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/option"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/gcecloud"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

const zone = "us-west1-b"

// startupScript prints the instance's environment and calls Google as its service account.
const startupScript = `#!/bin/sh
ask() { curl -sf -H 'Metadata-Flavor: Google' "http://metadata.google.internal/computeMetadata/v1/instance/$1"; }
echo "I am $(ask name) at $(ask network-interfaces/0/ip), $(hostname), $(systemd-detect-virt) $(dmidecode -s system-product-name)"
echo "without the header: $(curl -s -o /dev/null -w '%{http_code}' http://169.254.169.254/computeMetadata/v1/instance/name)"
token=$(ask service-accounts/default/token | sed 's/.*"access_token":"\([^"]*\)".*/\1/')
echo "as itself: $(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer $token" https://compute.googleapis.com/compute/v1/projects/acme-ml/zones/us-west1-b/instances/$(hostname))"
echo "out: $(curl -s -m 2 -o /dev/null -w '%{http_code}' http://1.1.1.1/)"
while ! test -b /dev/sdb1; do sleep 0.1; done
mkdir -p /mnt/second && mount -o discard,defaults /dev/disk/by-id/google-persistent-disk-1-part1 /mnt/second
echo "second disk: $(ls /mnt/second), $(touch /mnt/second/x 2>&1)"
echo done
`

// ended is logged by Google's guest agent after a startup script has succeeded.
const ended = "startup-script exit status 0"

// shutdownScript shows that the instance had time to shut down.
const shutdownScript = "#!/bin/sh\necho preempted is $(curl -sf -H 'Metadata-Flavor: Google' http://metadata.google.internal/computeMetadata/v1/instance/preempted)\n"

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within three minutes", what)
		}
	}
}

// newDisk writes a disk with one partition that contains a file.
func newDisk(t *testing.T, path string) {
	t.Helper()
	const make = `set -e
truncate -s 512M "$0" && echo 'start=2048, type=83' | sfdisk -q "$0"
mkdir "$1" && echo hello >"$1/hello.txt" && mkfs.ext4 -q -E offset=1048576 -d "$1" "$0" 480M`
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", make, path, t.TempDir()+"/content").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func TestInstanceBootsAndIsPreempted(t *testing.T) {
	t.Parallel()
	lab := booter.OpenLab(t)
	world := gcptest.New(t, gcptest.Options{Operation: 200 * time.Millisecond, Provisioning: 300 * time.Millisecond})
	cloud := gcecloud.New(t, lab, world, gcecloud.Options{})
	world.GiveDisk(gcptest.Project, zone, "second", 500)
	b := booter.Start(t, lab, cloud)
	newDisk(t, cloud.DiskFile(t, zone, "second"))
	c, err := compute.NewService(t.Context(), option.WithHTTPClient(world.Client("")))
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for _, name := range []string{"one", "two"} {
		if _, err := c.Instances.Insert(gcptest.Project, zone, machine(name)).Do(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one", "two"} {
		var port *compute.SerialPortOutput
		eventually(t, name+" has run its startup script", func() bool {
			if port, err = c.Instances.GetSerialPortOutput(gcptest.Project, zone, name).Do(); err != nil {
				t.Fatal(err)
			}
			return strings.Contains(port.Contents, ended)
		})
		t.Logf("%s ran its startup script after %s", name, time.Since(began).Round(time.Millisecond))
		ip := cloud.Find(name).NetworkInterfaces[0].NetworkIP
		for _, want := range []string{
			fmt.Sprintf("I am %[1]s at %[2]s, %[1]s, google Google Compute Engine", name, ip),
			"without the header: 403", "as itself: 200", "out: 000", "hello.txt", "Read-only file system",
		} {
			if !strings.Contains(port.Contents, want) {
				t.Errorf("%s: no %q in\n%s", name, want, port.Contents)
			}
		}
	}

	world.Tune(func(o *gcptest.Options) { o.Stopping = 30 * time.Second })
	cloud.Preempt(t, "one")
	eventually(t, "it shuts down by itself, and its shutdown script knows why", func() bool {
		return strings.Contains(b.Console("one"), "preempted is TRUE") && cloud.Find("one").Status == "STOPPING" && len(b.Running()) == 1
	})
	world.Tune(func(o *gcptest.Options) { o.Stopping = 0 })
	eventually(t, "it is stopped", func() bool { return cloud.Find("one").Status == "TERMINATED" })
	if _, err := c.Instances.Start(gcptest.Project, zone, "one").Do(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs its startup script at the next boot too", func() bool { return strings.Contains(b.Console("one"), ended) })

	if _, err := c.Instances.Delete(gcptest.Project, zone, "two").Do(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deleted one dies and the other stays", func() bool { return len(b.Running()) == 1 && b.Running()[0] == "one" })
}

// machine returns a Spot VM with a second disk.
func machine(name string) *compute.Instance {
	script, shutdown, restart := startupScript, shutdownScript, false
	return &compute.Instance{
		Name: name, MachineType: "zones/" + zone + "/machineTypes/n1-standard-8",
		Metadata: &compute.Metadata{Items: []*compute.MetadataItems{{Key: "startup-script", Value: &script}, {Key: "shutdown-script", Value: &shutdown}}},
		Disks: []*compute.AttachedDisk{
			{Boot: true, AutoDelete: true, InitializeParams: &compute.AttachedDiskInitializeParams{SourceImage: gcptest.ImageDebian}},
			{Source: "zones/" + zone + "/disks/second", Mode: "READ_ONLY"},
		},
		NetworkInterfaces: []*compute.NetworkInterface{{Network: "global/networks/default"}},
		ServiceAccounts:   []*compute.ServiceAccount{{Email: "default", Scopes: []string{"https://www.googleapis.com/auth/cloud-platform"}}},
		Scheduling:        &compute.Scheduling{ProvisioningModel: "SPOT", AutomaticRestart: &restart},
	}
}
