package wire

import (
	"context"
	"maps"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// CloudCluster is a cluster in a cloud, with what works on it.
type CloudCluster struct {
	Opened

	// Unread says why the settings that are remembered cannot be read. The cluster can be
	// taken down all the same.
	Unread error

	parts     CloudParts
	recovered *hosted.Recovered
}

// CloudTarget is a cluster as its own cloud has it.
type CloudTarget interface {
	installer.Deployment

	// Look asks the cloud for what the settings mention and is not known yet.
	Look(ctx context.Context) error
	// Remember is the settings with what is known, for the record.
	Remember() (map[string]string, error)
	// Recover reads back the settings of a cluster whose record is lost.
	Recover(ctx context.Context) (hosted.Recovered, error)
}

// CloudParts is what a cloud opens of a cluster.
type CloudParts struct {
	// Platform is the cloud's name, and Region where in it the cluster is; Project is of
	// a cloud that has projects.
	Platform, Region, Project string
	// Account are the flags that said in which account the cluster is, and as whom it is
	// worked on.
	Account []string
	// Caller is who the user is there.
	Caller string
	Target CloudTarget
	// Cluster is the part of Target that every cloud has.
	Cluster *hosted.Cluster
	Store   record.Store
	Gate    *resource.Gate
	// Flags are the settings that have a flag, which are read into what New makes.
	Flags spec.Table
	New   func() spec.Cluster
	// MasterSetting is one that a cluster has if its master was found.
	MasterSetting string
	Logs          CloudLogs
}

// Install has the parts looked at, and puts together what installs the cluster.
func (h *CloudCluster) Install(ctx context.Context, s *term.Streams, q CloudRequest, p CloudParts) error {
	h.parts = p
	if q.Given != nil {
		if err := p.Target.Look(ctx); err != nil {
			return err
		}
	}
	settings, err := p.Target.Remember()
	if err != nil {
		return err
	}
	release := h.Record.Release
	if release.IsZero() {
		release = p.Cluster.Release()
	}
	return h.Opened.Install(s, p.Caller, installer.Installer{
		Cluster: q.Cluster, Platform: p.Platform, Settings: settings, Release: release,
		Deployment: p.Target, Store: p.Store, Gate: p.Gate, Emit: q.Sink, SideBySide: true, LateLists: true,
	})
}

// Exists reports whether anything of the cluster is there, with or without a
// record of it.
func (h *CloudCluster) Exists(ctx context.Context) (bool, error) {
	if h.Known {
		return true, nil
	}
	found, err := h.parts.Target.Inventory(ctx, h.Cluster)
	return len(found) > 0, err
}

// rebuildRecord is what can be read back of a cluster that runs and has no record; it is nil
// when there is none. What an earlier cluster of the ID has left to be found again is
// no such cluster.
func (h *CloudCluster) rebuildRecord(ctx context.Context) (*hosted.Recovered, error) {
	if h.Known {
		return nil, nil //nolint:nilnil // nothing is lost
	}
	r, err := h.parts.Target.Recover(ctx)
	if err != nil || !r.Whole && r.Settings[h.parts.MasterSetting] == "" {
		return nil, err
	}
	return &r, nil
}

// Lost reports whether the cluster runs and has lost its record.
func (h *CloudCluster) Lost(ctx context.Context) (bool, error) {
	r, err := h.rebuildRecord(ctx)
	return r != nil, err
}

// Recover reads back the settings of a cluster that has lost its record, for Adopt. They
// are nil when no such cluster runs. Whole is false when they were read off live objects.
func (h *CloudCluster) Recover(ctx context.Context) (settings map[string]string, whole bool, err error) {
	r, err := h.rebuildRecord(ctx)
	if err != nil || r == nil {
		return nil, false, err
	}
	h.recovered = r
	settings = maps.Clone(r.Settings)
	delete(settings, hosted.KnownSetting)
	return settings, r.Whole, nil
}

// Adopt writes the record that Recover has read.
func (h *CloudCluster) Adopt(ctx context.Context) error {
	if err := h.parts.Flags.Read(h.parts.New(), h.Cluster, h.recovered.Settings); err != nil && h.recovered.Whole {
		return err
	}
	runs, _, err := h.parts.Cluster.Runs(ctx)
	if err != nil {
		return err
	}
	h.Settings, h.Release = h.recovered.Settings, runs
	return h.Installer.Adopt(ctx)
}

// Place is the region in which the cluster is.
func (h *CloudCluster) Place() string { return h.parts.Region }

// Project is the project that the cluster is in, of a cloud that has projects.
func (h *CloudCluster) Project() string { return h.parts.Project }

// Account are the flags that said in which account the cluster is: commands about it need
// them again.
func (h *CloudCluster) Account() []string { return h.parts.Account }

// Endpoint is where the master answers.
func (h *CloudCluster) Endpoint(ctx context.Context) (Endpoint, error) {
	e, err := h.parts.Cluster.Endpoint(ctx)
	return Endpoint{URL: e.URL, CA: e.CA, Name: e.Name}, err
}

// MasterTrouble is what the master's machine reports to be wrong; empty when nothing is.
func (h *CloudCluster) MasterTrouble(ctx context.Context) (string, error) {
	return h.parts.Cluster.Manifests.Problem(ctx)
}

// Admin is the account of the administrator that the cluster was created with.
func (h *CloudCluster) Admin(ctx context.Context) (Account, error) {
	c, err := h.parts.Cluster.Credentials(ctx)
	return Account{URL: c.URL, User: c.User, Password: c.Password}, err
}

// DeterminedPassword is the first password of the user determined.
func (h *CloudCluster) DeterminedPassword(ctx context.Context) (secret.Value, error) {
	return h.parts.Cluster.DeterminedPassword(ctx)
}

// Releases are the release that the cluster runs and that of this program.
func (h *CloudCluster) Releases(ctx context.Context) (runs, to record.Release, err error) {
	runs, _, err = h.parts.Cluster.Runs(ctx)
	return runs, h.parts.Cluster.Release(), err
}
