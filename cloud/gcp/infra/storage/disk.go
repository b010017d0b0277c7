// Package storage manages a cluster's data: the master's disk and its snapshots, the data bucket
// and the secrets.
package storage

import (
	"cmp"
	"context"
	"path"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Disk holds the database of a master and outlives its instance.
type Disk struct {
	In *mark.Cluster
	// Zone is its zone: "us-central1-a".
	Zone string
	// SizeGB is its size in Google's gigabytes, of 2^30 bytes. It can grow.
	SizeGB int64
	// Type is a disk type: "pd-balanced".
	Type string
	// Snapshot is the snapshot to restore, or empty for a blank disk.
	Snapshot string
	// Elsewhere returns the advice for a disk in another zone. It may be nil.
	Elsewhere func(zone string) string

	infra.Learned
	have int64 // size of the live disk
}

// ID returns the resource ID "gcp/disk/data".
func (*Disk) ID() string { return mark.ResourceID(mark.KindDisk, mark.DataDisk) }

// Define implements infra.Defined.
func (d *Disk) Define() infra.Definition[*compute.Disk] {
	def := mark.DefineZonal(d.In, Disks(d.In), mark.Zoned{Zone: d.Zone, Name: mark.DataDisk}, &d.Learned)
	def.Tags = d.In.Labels
	def.Create = d.createDisk
	def.Retag = d.relabel
	def.Compare = d.compareLive
	def.Change = func(ctx context.Context, _ []resource.Drift) error {
		return mark.GrowDisk(ctx, d.In, d.Identity(), d.SizeGB)
	}
	def.Describe, def.Advise, def.Note = d.describeSettings, d.driftAdvice, d.note
	return def
}

// describeSettings returns the size, type and zone for the plan.
func (d *Disk) describeSettings() []string {
	text := sizeText(d.SizeGB) + " " + d.Type + " in " + d.Zone
	if d.Snapshot != "" {
		text += ", from " + d.Snapshot
	}
	return []string{text}
}

// compareLive compares the attributes of a disk. One that is larger than requested is kept, because disks
// cannot shrink.
func (d *Disk) compareLive(_ context.Context, live *compute.Disk) ([]resource.Drift, error) {
	d.have = live.SizeGb
	snapshot := ""
	if live.SourceSnapshot != "" {
		snapshot = path.Base(live.SourceSnapshot)
	}
	return infra.Differences(
		infra.Fixed("zone", path.Base(live.Zone), d.Zone),
		infra.Fixed("type", path.Base(live.Type), d.Type),
		infra.Fixed("snapshot", snapshot, cmp.Or(d.Snapshot, snapshot)),
		infra.Changeable("size", sizeText(live.SizeGb), sizeText(max(live.SizeGb, d.SizeGB))),
	), nil
}

// note returns that the disk is larger than requested.
func (d *Disk) note() string {
	if d.have <= d.SizeGB {
		return ""
	}
	return "has " + sizeText(d.have) + ", more than the requested " + sizeText(d.SizeGB)
}

// driftAdvice returns the advice for using the existing disk.
func (d *Disk) driftAdvice(drift []resource.Drift) string {
	var out []string
	for _, one := range drift {
		switch {
		case one.Path == "zone" && d.Elsewhere != nil:
			out = append(out, d.Elsewhere(one.Have))
		case one.Path == "type":
			out = append(out, "set --data-disk-type to "+one.Have)
		case one.Path == "snapshot":
			out = append(out, "omit --data-snapshot: a disk with data is not re-created")
		}
	}
	return strings.Join(out, " and ")
}

func sizeText(gb int64) string { return strconv.FormatInt(gb, 10) + " GB" }

func (d *Disk) createDisk(ctx context.Context, _ string) error {
	in := &compute.Disk{
		Name: d.In.FullName(mark.DataDisk), SizeGb: d.SizeGB, Labels: d.In.AllLabels(), Description: "data of the master",
		Type: "projects/" + d.In.Clients.Project + "/zones/" + d.Zone + "/diskTypes/" + d.Type,
	}
	if d.Snapshot != "" {
		in.SourceSnapshot = "projects/" + d.In.Clients.Project + "/global/snapshots/" + d.Snapshot
	}
	return mark.Insert(ctx, d.In, d.Define(), d.In.Zonal(d.Zone, mark.DataDisk), func() error {
		return api.Run(ctx, d.In.Clients, d.In.Clients.Compute.Disks.Insert(d.In.Clients.Project, d.Zone, in))
	})
}

func (d *Disk) relabel(ctx context.Context, identity string, marks map[string]string) error {
	c := d.In.Clients
	zone, name := api.SplitZone(identity)
	return d.In.Relabel(ctx, d.ID(), marks, func() (mark.Labelled, error) {
		live, err := api.Do(ctx, c.Compute.Disks.Get(c.Project, zone, name))
		if err != nil {
			return mark.Labelled{}, err
		}
		return mark.Labelled{Labels: live.Labels, Fingerprint: live.LabelFingerprint}, nil
	}, func(l mark.Labelled) error {
		in := &compute.ZoneSetLabelsRequest{Labels: l.Labels, LabelFingerprint: l.Fingerprint}
		return api.Run(ctx, c, c.Compute.Disks.SetLabels(c.Project, zone, name, in))
	})
}

// Disks returns the kind of the cluster's disks. A disk can be deleted once it is detached. A boot
// disk is deleted with its instance.
func Disks(c *mark.Cluster) mark.Kind[compute.Disk] {
	return mark.KindOf(c, mark.KindDisk, c.LabelFilter(), mark.Calls[compute.Disk]{
		Get: func(ctx context.Context, identity string) (*compute.Disk, error) {
			zone, name := api.SplitZone(identity)
			return api.Do(ctx, c.Clients.Compute.Disks.Get(c.Clients.Project, zone, name))
		},
		Delete: func(ctx context.Context, identity string) error {
			zone, name := api.SplitZone(identity)
			return api.Run(ctx, c.Clients, c.Clients.Compute.Disks.Delete(c.Clients.Project, zone, name))
		},
		List: func(ctx context.Context, filter string) ([]*compute.Disk, error) {
			return c.Clients.ListDisks(ctx, filter)
		},
	}, func(d *compute.Disk) infra.Observed {
		used := len(d.Users) > 0
		return infra.Observed{
			Identity: path.Base(d.Zone) + "/" + d.Name, Marks: d.Labels, Used: used, Blank: isBlank(d),
			Deleting: d.Status == "DELETING" || used && d.Name != c.FullName(mark.DataDisk),
		}
	})
}

// isBlank reports whether a disk was never written to: it was created empty, and never attached
// according to its lastAttachTimestamp.
func isBlank(d *compute.Disk) bool {
	from := cmp.Or(d.SourceSnapshot, d.SourceImage, d.SourceDisk, d.SourceInstantSnapshot, d.SourceStorageObject)
	return from == "" && d.LastAttachTimestamp == "" && len(d.Users) == 0
}
