package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

// checkImages checks that each image exists, is not obsolete, supports its machine types and fits
// its disk.
func (c *checker) checkImages(ctx context.Context) doctor.Result {
	uses := map[string][]machines.Use{}
	m := c.Spec.Master
	uses[c.MasterImage()] = []machines.Use{{
		Who: "the master", Types: []string{m.MachineType}, Disk: m.BootDisk, Flags: "--master-image or --master-boot-disk-size",
	}}
	for name, p := range c.Spec.AllPools() {
		id := c.AgentImage(p)
		uses[id] = append(uses[id], machines.Use{
			Who: "pool " + name, Types: layout.TypesOf(p), Disk: cmp.Or(p.BootDisk.Size, c.Spec.Agents.BootDisk.Size),
			Flags: "--agent-image or --agent-boot-disk-size",
		})
	}
	return machines.CheckImages(ctx, uses, c.Known.Types, func(ctx context.Context, id string) (machines.Image, error) {
		if id == "" {
			return machines.Image{}, errNoImage()
		}
		i, err := c.facts.Image(ctx, id)
		return machines.Image{Name: i.Name, Architecture: i.Architecture, RootSize: i.Size, Odd: i.Replaced}, err
	})
}

// errNoImage reports a pool with several architectures, or with one that has no stock image.
func errNoImage() error {
	return &cloud.Error{
		Kind: cloud.Invalid, Op: "choose an image", Resource: "agents", Fix: "use separate pools for them, or use an image with --agent-image",
		Err: errors.New("no stock image supports all machines of a pool"),
	}
}

// checkDrivers reports GPUs that current NVIDIA drivers do not support, in pools that use the stock
// image. A machine joins without slots if its GPUs have no driver.
func (c *checker) checkDrivers(context.Context) doctor.Result {
	const needed = "GPUs that the driver of the stock image supports"
	var odd []string
	for _, name := range slices.Sorted(maps.Keys(c.Spec.AllPools())) {
		p := c.Spec.AllPools()[name]
		if p.Image != "" || c.Spec.Agents.Image != "" {
			continue
		}
		for _, t := range layout.TypesOf(p) {
			if gpu := c.Known.Types[t].GPU; facts.BeforeTuring(gpu) {
				odd = append(odd, fmt.Sprintf("pool %s: %s is older than NVIDIA's open driver supports, and the driver of the stock image is unknown before it boots", name, gpu))
			}
		}
	}
	if len(odd) > 0 {
		return doctor.Unsure(strings.Join(slices.Compact(odd), "; "), needed, "try one machine, or use an image with a driver with --agent-image")
	}
	return doctor.Passed("the images support the GPUs of all pools")
}
