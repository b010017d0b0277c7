// Package gcecloud has a booter boot the Compute Engine machines of a Google in memory:
// from their startup script, by Google's own runner, with a metadata server each. In the
// lab Google answers at its own names, with certificates that the machines' image trusts.
// Only tests may import it.
package gcecloud

import (
	"context"
	"errors"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/test/booter"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// Cloud is the Compute Engine of a Google in memory.
type Cloud struct {
	*front

	world *gcptest.World
	image map[string]string

	// mu guards played, the machine that is not booted because the lab's gateway is it.
	mu     sync.Mutex
	played string
}

// Options is what a test adds.
type Options struct {
	// Names are answered by handlers of the test's own, such as that of a registry.
	Names map[string]http.Handler
	// Image is further files of the image that machines boot, by their paths.
	Image map[string]string
}

var (
	_ booter.Cloud        = (*Cloud)(nil)
	_ booter.ConsoleTaker = (*Cloud)(nil)
)

// New has a Google in memory answer in a lab.
func New(t testing.TB, lab *booter.Lab, world *gcptest.World, o Options) *Cloud {
	t.Helper()
	return &Cloud{world: world, front: openFront(t, lab, world, o.Names), image: o.Image}
}

// Machines implements booter.Cloud.
func (c *Cloud) Machines(context.Context) ([]booter.Machine, error) {
	c.mu.Lock()
	played := c.played
	c.mu.Unlock()
	disks := c.world.Disks()
	var out []booter.Machine
	for _, i := range c.world.Instances() {
		if i.Name == played {
			continue
		}
		m := booter.Machine{ID: i.Name, Root: "machine-" + strconv.FormatUint(i.Id, 10), Hostname: i.Name, Addresses: addressesOf(i)}
		m.Powered = slices.Contains([]string{"STAGING", "RUNNING", "STOPPING"}, i.Status)
		m.PowerKey = i.Status == "STOPPING"
		for n, d := range i.Disks[1:] {
			m.Disks = append(m.Disks, describeDisk(n+1, d, disks[pathOf(d.Source)]))
		}
		out = append(out, m)
	}
	return out, nil
}

// addressesOf are the addresses of a machine's interfaces: internal ones first.
func addressesOf(i *compute.Instance) []string {
	var internal, external []string
	for _, nic := range i.NetworkInterfaces {
		internal = append(internal, nic.NetworkIP)
		for _, a := range nic.AccessConfigs {
			external = append(external, a.NatIP)
		}
	}
	return append(internal, external...)
}

// describeDisk is how a machine sees its n-th disk.
// https://cloud.google.com/compute/docs/disks/disk-symlinks
func describeDisk(n int, d *compute.AttachedDisk, number uint64) booter.Disk {
	out := booter.Disk{
		ID: diskID(number), Device: "sd" + string(rune('a'+n)), Serial: d.DeviceName, ReadOnly: d.Mode == "READ_ONLY",
		Links: []string{"disk/by-id/google-" + d.DeviceName, "disk/by-id/scsi-0Google_PersistentDisk_" + d.DeviceName},
	}
	if d.Interface == "NVME" {
		out.Device, out.Links = "nvme0n"+strconv.Itoa(n+1), out.Links[:1]
	}
	return out
}

func diskID(number uint64) string { return "disk-" + strconv.FormatUint(number, 10) }

// DiskFile is the file with the content of a disk, which a test may write before a machine
// has the disk.
func (c *Cloud) DiskFile(t testing.TB, zone, name string) string {
	t.Helper()
	number, found := c.world.Disks()["projects/"+gcptest.Project+"/zones/"+zone+"/disks/"+name]
	if !found {
		t.Fatalf("there is no disk %s in %s", name, zone)
	}
	return c.lab.DiskFile(diskID(number))
}

func pathOf(link string) string {
	return strings.TrimPrefix(link, "https://www.googleapis.com/compute/v1/")
}

// Find is a machine as Google has it; nil when there is none of the name.
func (c *Cloud) Find(name string) *compute.Instance {
	for _, i := range c.world.Instances() {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// place is the project and the zone of a machine.
func (c *Cloud) place(name string) (project, zone string, found bool) {
	i := c.Find(name)
	if i == nil {
		return "", "", false
	}
	return strings.Split(pathOf(i.SelfLink), "/")[1], path.Base(i.Zone), true
}

// Metadata implements booter.Cloud.
func (c *Cloud) Metadata(_ context.Context, id string) (http.Handler, error) {
	project, zone, found := c.place(id)
	if !found {
		return nil, errors.New("there is no instance " + id)
	}
	return c.world.Metadata(project, zone, id), nil
}

// PoweredOff implements booter.Cloud: such a machine is stopped.
func (c *Cloud) PoweredOff(_ context.Context, id string) error {
	if project, zone, found := c.place(id); found {
		c.world.PowerOff(project, zone, id)
	}
	return nil
}

// TakeConsole implements booter.ConsoleTaker: what a machine writes is read from its
// serial port.
func (c *Cloud) TakeConsole(id, text string) {
	if project, zone, found := c.place(id); found {
		c.world.WriteConsole(project, zone, id, text)
	}
}

// Preempt has Google take a machine back: its metadata says so, its power key is pressed,
// and when World's time for stopping is over it is off.
func (c *Cloud) Preempt(t testing.TB, id string) {
	t.Helper()
	project, zone, found := c.place(id)
	if !found {
		t.Fatalf("there is no instance %s", id)
	}
	c.world.Preempt(project, zone, id)
}

// RunOn has the programs of Command run on a machine: it is not booted, and the lab's
// gateway is the machine, with its metadata server.
func (c *Cloud) RunOn(t testing.TB, id string) {
	t.Helper()
	h, err := c.Metadata(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.played = id
	c.mu.Unlock()
	c.serveMetadata(t, h)
}
