package wire

import (
	"context"
	"maps"
	"time"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// CloudCluster is an opened cluster in a cloud.
type CloudCluster struct {
	Opened

	// Unread is the error of reading the recorded settings, or nil. Such a cluster can still be removed.
	Unread error

	parts     CloudParts
	recovered *hosted.Recovered
}

// CloudTarget implements a cluster for one cloud.
type CloudTarget interface {
	installer.Deployment

	// Look queries the cloud for facts that the settings refer to and that are not known yet.
	Look(ctx context.Context) error
	// Remember returns the settings and known facts to be recorded.
	Remember() (map[string]string, error)
	// Recover reads back the settings of a cluster whose record is lost.
	Recover(ctx context.Context) (hosted.Recovered, error)
}

// CloudParts holds the parts of an opened cluster that depend on the cloud.
type CloudParts struct {
	// Platform is the name of the cloud, Region the cluster's region, and Project its project in a cloud
	// that has projects.
	Platform, Region, Project string
	// Account holds the flags that select the account and the identity to use.
	Account []string
	// Caller is the identity of the user.
	Caller string
	Target CloudTarget
	// Cluster is the part of Target common to all clouds.
	Cluster *hosted.Cluster
	Store   record.Store
	Gate    *resource.Gate
	// Flags are the settings that have a flag. They are read into the result of New.
	Flags spec.Table
	New   func() spec.Cluster
	// MasterSetting is a setting that Recover returns only if it found the master.
	MasterSetting string
	Logs          CloudLogs
}

// cloudCheckLimit is longer than clients of clouds repeat a throttled call, a minute and a half.
const cloudCheckLimit = 100 * time.Second

// Install looks up the facts that the parts require and assembles the installer.
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
		Deployment: p.Target, Store: p.Store, Gate: p.Gate, Emit: q.Sink, SideBySide: true, LateLists: true, CheckLimit: cloudCheckLimit,
	})
}

// Exists reports whether any resource of the cluster exists, with or without a record.
func (h *CloudCluster) Exists(ctx context.Context) (bool, error) {
	if h.Known {
		return true, nil
	}
	found, err := h.parts.Target.Inventory(ctx, h.Cluster)
	return len(found) > 0, err
}

// rebuildRecord returns the recovered settings of a running cluster without a record. It returns nil if
// there is no such cluster; resources that an earlier cluster with the ID has left do not count.
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

// Lost reports whether the cluster runs but has lost its record.
func (h *CloudCluster) Lost(ctx context.Context) (bool, error) {
	r, err := h.rebuildRecord(ctx)
	return r != nil, err
}

// Recover reads back the settings of a cluster that has lost its record, for Adopt. settings is nil if no
// such cluster runs. whole is false if they come from live objects.
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

// Place returns the cluster's region.
func (h *CloudCluster) Place() string { return h.parts.Region }

// Project returns the cluster's project, in a cloud that has projects.
func (h *CloudCluster) Project() string { return h.parts.Project }

// Account returns the flags that select the account. Printed commands include them.
func (h *CloudCluster) Account() []string { return h.parts.Account }

// Endpoint returns the address of the master.
func (h *CloudCluster) Endpoint(ctx context.Context) (Endpoint, error) {
	e, err := h.parts.Cluster.Endpoint(ctx)
	return Endpoint{URL: e.URL, CA: e.CA, Name: e.Name}, err
}

// MasterTrouble returns the problem that the master's machine reports, or "".
func (h *CloudCluster) MasterTrouble(ctx context.Context) (string, error) {
	return h.parts.Cluster.Manifests.Problem(ctx)
}

// Admin returns the administrator's account with which the cluster was created.
func (h *CloudCluster) Admin(ctx context.Context) (Account, error) {
	c, err := h.parts.Cluster.Credentials(ctx)
	return Account{URL: c.URL, User: c.User, Password: c.Password}, err
}

// DeterminedPassword returns the initial password of the user determined.
func (h *CloudCluster) DeterminedPassword(ctx context.Context) (secret.Value, error) {
	return h.parts.Cluster.DeterminedPassword(ctx)
}

// Releases returns the current release and that of this program.
func (h *CloudCluster) Releases(ctx context.Context) (runs, to record.Release, err error) {
	runs, _, err = h.parts.Cluster.Runs(ctx)
	return runs, h.parts.Cluster.Release(), err
}
