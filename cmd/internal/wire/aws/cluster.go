// Package aws opens clusters on AWS with what works on them, lists them, and asks AWS what
// helps to say what a cluster should be.
package aws

import (
	"context"
	"fmt"
	"maps"
	"os"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer"
	"github.com/det-deploy/det-deploy/installer/hosted"
	"github.com/det-deploy/det-deploy/installer/hosted/program"
	"github.com/det-deploy/det-deploy/installer/record"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/installer/target/aws"
	"github.com/det-deploy/det-deploy/installer/target/aws/control"
	"github.com/det-deploy/det-deploy/installer/target/aws/layout"
)

// Request says which cluster on AWS is meant, and for what.
type Request struct {
	wire.HostedRequest

	// Region and Profile are empty for what the environment says; a cluster that
	// is known by its id is looked for where it is.
	Region, Profile string
}

// Opened is a cluster on AWS, with what works on it.
type Opened struct {
	wire.Opened

	Target *aws.Target
	// Unread says why the settings that are remembered cannot be read. The cluster
	// can be taken down all the same.
	Unread error

	free      api.Clients
	recovered *hosted.Recovered
}

// Open puts together what works on a cluster. It changes nothing.
func Open(ctx context.Context, s *term.Streams, q Request) (*Opened, error) {
	gate := new(resource.Gate)
	a, account, err := openClients(ctx, q)
	if err != nil {
		return nil, err
	}
	a.Record, _, a.Known, err = record.Read(ctx, control.Open(a.free, q.Cluster, account))
	if err != nil {
		return nil, err
	}
	c, err := a.targetConfig(q)
	if err != nil {
		return nil, err
	}
	c.Free, c.Options.Log = a.free, q.Log
	if c.Clients, err = api.Open(ctx, api.Options{Region: a.free.Region, Profile: q.Profile, Gate: gate, Log: q.Log}); err != nil {
		return nil, err
	}
	c.S3Endpoint = s.Getenv("AWS_ENDPOINT_URL")
	if c.Options.Programs, err = listPrograms(q.HostedRequest); err != nil {
		return nil, err
	}
	if a.Target, err = aws.Open(ctx, c); err != nil {
		return nil, err
	}
	if q.Given != nil {
		if err := a.Target.Look(ctx); err != nil {
			return nil, err
		}
	}
	return a, a.runInstall(s, q, gate)
}

// openClients opens clients where the cluster is.
func openClients(ctx context.Context, q Request) (a *Opened, account string, err error) {
	region, err := RegionOf(ctx, q)
	if err != nil {
		return nil, "", err
	}
	a = &Opened{}
	if a.free, err = api.Open(ctx, api.Options{Region: region, Profile: q.Profile, Log: q.Log}); err != nil {
		return nil, "", err
	}
	who, err := facts.Facts{Clients: a.free}.Caller(ctx)
	return a, who.Account, err
}

// targetConfig is the target's, as far as it follows from what is said and remembered.
func (a *Opened) targetConfig(q Request) (aws.Config, error) {
	c := aws.Config{
		Layout: layout.Layout{Spec: spec.AWS{Common: spec.Common{Cluster: q.Cluster}, Region: a.free.Region}},
		Options: hosted.Options{
			Settings: a.Record.Settings,
			Version:  build.Read().Version,
			Secrets:  secret.Resolver{Sources: map[secret.Scheme]secret.Source{secret.AWS: storage.SecretSource{Secrets: a.free.Secrets}}},
			NoWait:   q.NoWait, NoVerify: q.NoVerify,
		},
	}
	var err error
	if c.Known, err = layout.ReadKnown(a.Record.Settings); err != nil {
		return c, err
	}
	settings := maps.Clone(a.Record.Settings)
	if q.Given != nil {
		if settings, err = spec.AWSFlags().Merge(new(spec.AWS), *q.Given, settings); err != nil {
			return c, err
		}
	}
	delete(settings, hosted.KnownSetting)
	c.Options.Settings = settings
	if q.Given == nil && !a.Known {
		c.Unread = true
		return c, nil // nothing is known but its id, which is enough to take it down
	}
	named, err := regionIn(settings)
	if err != nil {
		return c, err
	}
	if named == "" {
		settings["region"] = a.free.Region
	}
	var read spec.AWS
	err = spec.AWSFlags().Read(&read, q.Cluster, settings)
	switch {
	case err == nil:
		c.Spec = read
	case q.Given != nil:
		return c, err
	default:
		// Nothing is wanted of what cannot be read; what is there is found by its mark.
		a.Unread, c.Unread, c.Known = err, true, layout.Known{}
	}
	return c, nil
}

func listPrograms(q wire.HostedRequest) (program.Set, error) {
	if !q.Bring {
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return program.Load(q.Binaries, self)
}

func (a *Opened) runInstall(s *term.Streams, q Request, gate *resource.Gate) error {
	settings, err := a.Target.Remember()
	if err != nil {
		return err
	}
	release := a.Record.Release
	if release.IsZero() {
		release = a.Target.Release()
	}
	return a.Install(s, a.Target.Caller.ARN, installer.Installer{
		Cluster: q.Cluster, Platform: "aws", Settings: settings, Release: release,
		Deployment: a.Target, Store: a.Target.Store(), Gate: gate, Emit: q.Sink,
	})
}

// Exists reports whether anything of the cluster is there, with or without a
// record of it.
func (a *Opened) Exists(ctx context.Context) (bool, error) {
	if a.Known {
		return true, nil
	}
	found, err := a.Target.Inventory(ctx, a.Cluster)
	return len(found) > 0, err
}

// rebuildRecord is what can be read back of a cluster that runs and has no record; it is nil
// when there is none. What an earlier cluster of the ID has left to be found again is
// no such cluster.
func (a *Opened) rebuildRecord(ctx context.Context) (*hosted.Recovered, error) {
	if a.Known {
		return nil, nil //nolint:nilnil // nothing is lost
	}
	r, err := a.Target.Recover(ctx)
	if err != nil || !r.Whole && r.Settings["master-instance-type"] == "" {
		return nil, err
	}
	return &r, nil
}

// Lost reports whether the cluster runs and has lost its record.
func (a *Opened) Lost(ctx context.Context) (bool, error) {
	r, err := a.rebuildRecord(ctx)
	return r != nil, err
}

// Recover reads back the settings of a cluster that has lost its record, for Adopt. They
// are nil when no such cluster runs. Whole is false when they were read off live objects.
func (a *Opened) Recover(ctx context.Context) (settings map[string]string, whole bool, err error) {
	r, err := a.rebuildRecord(ctx)
	if err != nil || r == nil {
		return nil, false, err
	}
	a.recovered = r
	settings = maps.Clone(r.Settings)
	delete(settings, hosted.KnownSetting)
	return settings, r.Whole, nil
}

// Adopt writes the record that Recover has read.
func (a *Opened) Adopt(ctx context.Context) error {
	if err := spec.AWSFlags().Read(new(spec.AWS), a.Cluster, a.recovered.Settings); err != nil && a.recovered.Whole {
		return err
	}
	runs, _, err := a.Target.Runs(ctx)
	if err != nil {
		return err
	}
	a.Settings, a.Release = a.recovered.Settings, runs
	return a.Installer.Adopt(ctx)
}

// Place is the region in which the cluster is.
func (a *Opened) Place() string { return a.free.Region }

// UnreadError says why the settings that are remembered cannot be read, if they cannot.
func (a *Opened) UnreadError() error { return a.Unread }

// Endpoint is where the master answers.
func (a *Opened) Endpoint(ctx context.Context) (wire.Endpoint, error) {
	e, err := a.Target.Endpoint(ctx)
	return wire.Endpoint{URL: e.URL, CA: e.CA, Name: e.Name}, err
}

// MasterTrouble is what the master's machine reports to be wrong; empty when nothing is.
func (a *Opened) MasterTrouble(ctx context.Context) (string, error) {
	return a.Target.Manifests.Problem(ctx)
}

// Admin is the account of the administrator that the cluster was created with.
func (a *Opened) Admin(ctx context.Context) (wire.Account, error) {
	c, err := a.Target.Credentials(ctx)
	return wire.Account{URL: c.URL, User: c.User, Password: c.Password}, err
}

// DeterminedPassword is the first password of the user determined.
func (a *Opened) DeterminedPassword(ctx context.Context) (secret.Value, error) {
	return a.Target.DeterminedPassword(ctx)
}

// Releases are the release that the cluster runs and that of this program.
func (a *Opened) Releases(ctx context.Context) (runs, to record.Release, err error) {
	runs, _, err = a.Target.Runs(ctx)
	return runs, a.Target.Release(), err
}
