package checks

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

// baseCheck checks the base_config of pools.
type baseCheck struct{ *checker }

// baseConfigChecks returns a check for each pool with a base_config.
func (c *checker) baseConfigChecks() []doctor.Check {
	var out []doctor.Check
	all := c.Spec.AllPools()
	for _, name := range append(c.Spec.PoolNames(), spec.AuxPool) {
		if p := all[name]; p.BaseConfig.JSON() != nil {
			out = append(out, doctor.Check{Name: "base_config of " + name, Look: func(ctx context.Context) doctor.Result { return baseCheck{c}.checkBaseConfig(ctx, name, p) }})
		}
	}
	return out
}

// checkBaseConfig checks that the disks of a pool's base_config exist and can be attached. The
// syntax was checked when cluster.yaml was read.
func (c baseCheck) checkBaseConfig(ctx context.Context, name string, p spec.GCPPool) doctor.Result {
	const needed = "disks that the pool's machines can attach"
	fix := "correct base_config of " + name + " in cluster.yaml"
	base, err := properties.Parse(p.BaseConfig.JSON())
	if err != nil {
		return doctor.Failed(strings.ReplaceAll(err.Error(), "\n", "; "), needed, fix)
	}
	var wrong []string
	for i, d := range base.Disks {
		found, err := c.judgeDisk(ctx, p, d)
		if err != nil {
			r := doctor.FromError(fmt.Errorf("disks[%d]: %w", i, err), needed)
			if r.Fix == "" {
				r.Fix = fix
			}
			return r
		}
		for _, text := range found {
			wrong = append(wrong, fmt.Sprintf("disks[%d]: %s", i, text))
		}
	}
	if len(wrong) > 0 {
		return doctor.Failed(strings.Join(wrong, "; "), needed, fix)
	}
	return doctor.Passed("%d further disks", len(base.Disks))
}

// judgeDisk lists the problems of a disk for the machines of a pool.
func (c baseCheck) judgeDisk(ctx context.Context, p spec.GCPPool, d *compute.AttachedDisk) ([]string, error) {
	if d.InitializeParams != nil {
		return c.judgeNewDisk(ctx, d.InitializeParams)
	}
	zone, name := placeAndName(d.Source, "zones")
	region, _ := placeAndName(d.Source, "regions")
	switch {
	case zone == "" && region == "":
		return nil, nil // a local SSD
	case zone == "" && region != c.Spec.Region || zone != "" && !strings.HasPrefix(zone, c.Spec.Region+"-"):
		return []string{fmt.Sprintf("%s is in %s, and the cluster in %s", name, zone+region, c.Spec.Region)}, nil
	case zone == "":
		return c.judgeRegionalDisk(ctx, p, d, name)
	}
	var wrong []string
	if !c.Known.Types.OfferedIn(zone, layout.TypesOf(p)) {
		wrong = append(wrong, fmt.Sprintf("%s is in %s, which offers none of the pool's machines", name, zone))
	}
	live, err := api.Do(ctx, c.Clients.Compute.Disks.Get(c.projectOf(d.Source), zone, name))
	if err != nil {
		return nil, err
	}
	more, err := c.judgeSharing(ctx, p, d, live)
	return append(wrong, more...), err
}

// judgeRegionalDisk lists the problems of a regional disk, which machines in its two zones can attach.
func (c baseCheck) judgeRegionalDisk(ctx context.Context, p spec.GCPPool, d *compute.AttachedDisk, name string) ([]string, error) {
	at := c.Clients.In(c.projectOf(d.Source))
	all, err := at.ListDisks(ctx, "name="+name)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(live *compute.Disk) bool { return live.Name == name && path.Base(live.Region) == c.Spec.Region })
	if i < 0 {
		return []string{name + " is no regional disk of " + c.Spec.Region}, nil
	}
	var wrong, zones []string
	for _, link := range all[i].ReplicaZones {
		zones = append(zones, path.Base(link))
	}
	for _, zone := range c.PoolZones(p) {
		if !slices.Contains(zones, zone) {
			wrong = append(wrong, fmt.Sprintf("%s is in %s, and the pool in %s too; set zones of the pool", name, strings.Join(zones, " and "), zone))
		}
	}
	more, err := c.judgeSharing(ctx, p, d, all[i])
	return append(wrong, more...), err
}

// judgeSharing lists the problems of several machines with one disk.
func (c baseCheck) judgeSharing(ctx context.Context, p spec.GCPPool, d *compute.AttachedDisk, live *compute.Disk) (wrong []string, err error) {
	if d.Mode != "READ_ONLY" && p.MaxAgents > 1 && !isShareable(live) {
		wrong = append(wrong, fmt.Sprintf("%s is writable by one machine only, but the pool may have %d; set mode: READ_ONLY", live.Name, p.MaxAgents))
	}
	if d.AutoDelete {
		wrong = append(wrong, live.Name+" would be deleted with the first machine; set autoDelete: false")
	}
	writer, err := c.findWriter(ctx, live)
	if writer != "" {
		wrong = append(wrong, fmt.Sprintf("%s is attached to %s for writing; detach it there", live.Name, writer))
	}
	return wrong, err
}

// isShareable reports whether several machines may write to a disk.
func isShareable(d *compute.Disk) bool { return d.AccessMode == "READ_WRITE_MANY" }

// findWriter returns a machine outside the cluster that has a disk attached for writing.
func (c baseCheck) findWriter(ctx context.Context, d *compute.Disk) (string, error) {
	for _, user := range d.Users {
		zone, machine := placeAndName(user, "zones")
		m, err := api.Do(ctx, c.Clients.Compute.Instances.Get(c.projectOf(user), zone, machine))
		if isDenied(err) {
			continue
		}
		if err != nil {
			return "", err
		}
		writes := slices.ContainsFunc(m.Disks, func(a *compute.AttachedDisk) bool { return path.Base(a.Source) == d.Name && a.Mode != "READ_ONLY" })
		if writes && !isShareable(d) {
			return m.Name, nil
		}
	}
	return "", nil
}

// judgeNewDisk checks that the size of a new disk suffices for its source.
func (c baseCheck) judgeNewDisk(ctx context.Context, in *compute.AttachedDiskInitializeParams) ([]string, error) {
	switch {
	case in.DiskSizeGb == 0:
		return nil, nil
	case in.SourceImage != "":
		i, err := c.facts.Image(ctx, in.SourceImage)
		if err == nil && int64(i.Size) > in.DiskSizeGb {
			return []string{fmt.Sprintf("diskSizeGb is %d, and image %s needs %d", in.DiskSizeGb, i.Name, i.Size)}, nil
		}
		return nil, err
	case in.SourceSnapshot != "":
		s, err := api.Do(ctx, c.Clients.Compute.Snapshots.Get(c.projectOf(in.SourceSnapshot), path.Base(in.SourceSnapshot)))
		if err == nil && s.DiskSizeGb > in.DiskSizeGb {
			return []string{fmt.Sprintf("diskSizeGb is %d, and snapshot %s is of %d GB", in.DiskSizeGb, s.Name, s.DiskSizeGb)}, nil
		}
		return nil, err
	}
	return nil, nil
}

// placeAndName parses a link such as "zones/us-west1-b/disks/data", with zones or regions as the scope.
func placeAndName(link, scope string) (place, name string) {
	parts := strings.Split(link, "/")
	i := slices.Index(parts, scope)
	if i < 0 || i+1 >= len(parts) {
		return "", path.Base(link)
	}
	return parts[i+1], path.Base(link)
}

// projectOf returns the project that a link names, or else the cluster's.
func (c baseCheck) projectOf(link string) string {
	parts := strings.Split(link, "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "projects" {
			return parts[i+1]
		}
	}
	return c.Clients.Project
}
