package gcp

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	engine "google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/infra/compute"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/network"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/target/gcp/layout"
)

// Recover reads the settings of a cluster from the copy in the control bucket, or else from its
// live objects. Settings are nil if the cluster does not exist. It changes nothing.
func (t *Target) Recover(ctx context.Context) (hosted.Recovered, error) {
	r, found, err := t.ReadCopy(ctx)
	if err != nil || found {
		return r, err
	}
	s, c := &liveSettings{in: t.cluster, settings: map[string]string{}}, t.cluster
	for _, look := range []func() error{
		func() error { return readMarked(ctx, c, compute.Masters(c), s.readMaster) },
		func() error { return readMarked(ctx, c, network.Subnetworks(c), s.readSubnetwork) },
		func() error { return readMarked(ctx, c, network.Firewalls(c), s.readFirewall) },
		func() error { return readMarked(ctx, c, network.Routers(c), s.readRouter) },
		func() error { return readMarked(ctx, c, storage.Disks(c), s.readDisk) },
	} {
		if err := look(); err != nil {
			return hosted.Recovered{}, fmt.Errorf("recover the cluster's settings from its objects: %w", err)
		}
	}
	if len(s.settings) == 0 {
		return hosted.Recovered{}, nil
	}
	s.nameNetwork()
	s.settings["project"], s.settings["region"] = t.Clients.Project, t.Clients.Region
	settings, err := hosted.Remember(s.settings, layout.Known{Master: layout.MasterPlace{Zone: s.zone}})
	return hosted.Recovered{Settings: settings}, err
}

// readMarked reads every live object of a kind that has the cluster's mark.
func readMarked[T any](ctx context.Context, c *mark.Cluster, k mark.Kind[T], read func(*T)) error {
	all, err := k.All(ctx, c.Owned())
	for _, live := range all {
		read(live.Object)
	}
	return err
}

// liveSettings holds the settings of a cluster as read from its live objects.
type liveSettings struct {
	in       *mark.Cluster
	settings map[string]string
	// zone is that of the master; network and subnetwork are those of its machine.
	zone, network, subnetwork string
}

// nameNetwork adds the network of the master's machine if it belongs to the user.
func (s *liveSettings) nameNetwork() {
	if s.settings["network-cidr"] != "" || s.subnetwork == "" {
		return
	}
	host, name, _ := strings.Cut(strings.TrimPrefix(projectPath(s.network), "projects/"), "/")
	s.settings["network"], s.settings["subnetwork"] = path.Base(name), path.Base(s.subnetwork)
	if host != s.in.Clients.Project {
		s.settings["host-project"], s.settings["firewall"] = host, "existing"
	}
}

// projectPath removes the address of the service from a link.
func projectPath(link string) string { return link[max(0, strings.Index(link, "projects/")):] }

func (s *liveSettings) readMaster(i *engine.Instance) {
	s.settings["master-machine-type"] = path.Base(i.MachineType)
	s.zone = path.Base(i.Zone)
	for _, nic := range i.NetworkInterfaces {
		s.network, s.subnetwork = nic.Network, nic.Subnetwork
	}
	for _, d := range i.Disks {
		if d.DeviceName == compute.DataDevice && path.Base(d.Source) != s.in.FullName(mark.DataDisk) {
			s.settings["data-disk"] = path.Base(d.Source)
		}
	}
	var more []string
	for _, k := range slices.Sorted(maps.Keys(i.Labels)) {
		if !strings.HasPrefix(k, "det-deploy-") && !strings.HasPrefix(k, "goog-") {
			more = append(more, k+"="+i.Labels[k])
		}
	}
	if len(more) > 0 {
		s.settings["label"] = strings.Join(more, ",")
	}
	s.readAccount(i)
	s.readTags(i)
}

// readAccount reads the master's account if it belongs to the user.
func (s *liveSettings) readAccount(i *engine.Instance) {
	for _, a := range i.ServiceAccounts {
		if name, _, _ := strings.Cut(a.Email, "@"); !strings.HasPrefix(name, "det-m-") {
			s.settings["master-service-account"] = a.Email
		}
	}
}

// readTags reads the network tags that the user added.
func (s *liveSettings) readTags(i *engine.Instance) {
	if i.Tags == nil {
		return
	}
	more := slices.DeleteFunc(slices.Clone(i.Tags.Items), func(tag string) bool { return tag == s.in.FullName("master") })
	if len(more) > 0 {
		s.settings["network-tag"] = strings.Join(more, ",")
	}
}

func (s *liveSettings) readSubnetwork(n *engine.Subnetwork) {
	s.settings["network-cidr"] = n.IpCidrRange
}

// readFirewall reads the address ranges that may reach the machines.
func (s *liveSettings) readFirewall(f *engine.Firewall) {
	switch f.Name {
	case s.in.FullName("master-port"):
		s.settings["inbound-cidr"] = strings.Join(slices.Sorted(slices.Values(f.SourceRanges)), ",")
	case s.in.FullName("ssh"):
		s.settings["ssh"] = "true"
	}
}

func (s *liveSettings) readRouter(*engine.Router) { s.settings["nat"] = "true" }

func (s *liveSettings) readDisk(d *engine.Disk) {
	if d.Name != s.in.FullName(mark.DataDisk) {
		return
	}
	s.settings["data-disk-size"], s.settings["data-disk-type"] = strconv.FormatInt(d.SizeGb, 10), path.Base(d.Type)
	s.zone = path.Base(d.Zone)
	if d.SourceSnapshot != "" {
		s.settings["data-snapshot"] = path.Base(d.SourceSnapshot)
	}
}
