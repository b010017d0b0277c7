// Package gcecloud boots the Compute Engine instances of a fake Google Cloud with a booter:
// Google's guest agent runs their startup scripts, and each has a metadata server. In the lab, the
// fake serves Google's own host names, with certificates that the instances' image trusts. Only
// tests may import it.
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

// Cloud is the Compute Engine service of a fake Google Cloud.
type Cloud struct {
	*front

	world *gcptest.World
	image map[string]string

	// mu guards played, the instance that is not booted because the lab's gateway takes its place.
	mu     sync.Mutex
	played string
}

// Options holds additions of a test.
type Options struct {
	// Names are additional host names with handlers of the test, such as a registry.
	Names map[string]http.Handler
	// Image holds additional files of the instances' image by path.
	Image map[string]string
}

var (
	_ booter.Cloud        = (*Cloud)(nil)
	_ booter.ConsoleTaker = (*Cloud)(nil)
)

// New serves a fake Google Cloud in a lab.
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

// addressesOf returns the addresses of an instance's interfaces, internal ones first.
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

// describeDisk returns an instance's n-th disk.
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

// DiskFile returns the file with the content of a disk. A test may write it before the disk is
// attached.
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

// Find returns an instance by name, or nil.
func (c *Cloud) Find(name string) *compute.Instance {
	for _, i := range c.world.Instances() {
		if i.Name == name {
			return i
		}
	}
	return nil
}

// place returns the project and the zone of an instance.
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

// PoweredOff implements booter.Cloud. It stops the instance.
func (c *Cloud) PoweredOff(_ context.Context, id string) error {
	if project, zone, found := c.place(id); found {
		c.world.PowerOff(project, zone, id)
	}
	return nil
}

// TakeConsole implements booter.ConsoleTaker. It appends the output to the instance's serial port
// output.
func (c *Cloud) TakeConsole(id, text string) {
	if project, zone, found := c.place(id); found {
		c.world.WriteConsole(project, zone, id, text)
	}
}

// Preempt preempts an instance: its metadata announces it, its power key is pressed, and it is
// stopped after the World's stopping time.
func (c *Cloud) Preempt(t testing.TB, id string) {
	t.Helper()
	project, zone, found := c.place(id)
	if !found {
		t.Fatalf("there is no instance %s", id)
	}
	c.world.Preempt(project, zone, id)
}

// RunOn makes the programs of Command run on an instance: it is not booted, and the lab's gateway
// serves its metadata.
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
