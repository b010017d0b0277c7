package gcp

import (
	"context"
	"strings"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	gcpwire "github.com/det-deploy/det-deploy/cmd/internal/wire/gcp"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// provider implements clouds.Provider for Google Cloud with the flags of one command.
type provider struct{ gcpwire.Account }

var (
	_ clouds.Provider  = (*provider)(nil)
	_ clouds.Preparer  = (*provider)(nil)
	_ clouds.Explainer = (*provider)(nil)
)

func newWords() clouds.Words {
	return clouds.Words{
		Regions: gcpwire.KnownRegions(),
		Name:    name, On: "Google Cloud", Account: "project", List: "list", ListRegion: "all",
		Master: func(cluster string) string { return "det-" + cluster + "-master" },
		Console: func(in *wire.CloudCluster, id string) string {
			zone, machine, _ := strings.Cut(id, "/")
			return "gcloud compute instances get-serial-port-output " + machine + " --zone " + zone + " --project " + in.Project()
		},
	}
}

// Words returns the terms used for Google Cloud.
func (*provider) Words() clouds.Words { return newWords() }

// Settings returns the settings that have a flag.
func (*provider) Settings() spec.Table { return spec.GCPFlags() }

// AddFlags declares the flags specific to Google Cloud.
func (p *provider) AddFlags(v cluster.Verb, f *pflag.FlagSet) {
	f.StringVar(&p.Impersonate, "impersonate", "", "service account to act as")
	if !v.Describes() { // for the others, project is a setting of the cluster
		f.StringVar(&p.Project, "project", "", "Google project (default that of gcloud)")
	}
}

// Check returns an error if the project or region is invalid.
func (p *provider) Check(region string) error {
	if p.Project != "" && !spec.ValidProject(p.Project) {
		return usage.Errorf("--project: must be a project ID such as my-lab-123, not a name or number (is %q)", p.Project)
	}
	if region != "" && !spec.ValidGCPRegion(region) {
		return usage.Errorf("--region: must be a Google Cloud region such as us-central1 (is %q)", region)
	}
	return nil
}

func (p *provider) newRequest(q wire.CloudRequest) gcpwire.Request {
	return gcpwire.Request{CloudRequest: q, Account: p.Account}
}

// Prepare returns the APIs to be enabled, as a question and a function that enables them.
func (p *provider) Prepare(ctx context.Context, q wire.CloudRequest) (string, func(context.Context) error, error) {
	return gcpwire.Prepare(ctx, p.newRequest(q))
}

// Explain adds all disabled APIs and missing permissions to the error of a denied call.
func (p *provider) Explain(ctx context.Context, q wire.CloudRequest, err error) error {
	return gcpwire.Explain(ctx, p.newRequest(q), err)
}

// Open opens a cluster. If no project is given, it uses that of the saved context with this cluster ID.
func (p *provider) Open(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error) {
	r := p.newRequest(q)
	project, err := gcpwire.ProjectOf(ctx, r)
	if err != nil {
		return nil, err
	}
	if project == "" {
		known, err := cluster.Remembered(s, q.Cluster)
		if err != nil {
			return nil, err
		}
		if known.Platform == name {
			r.Project = known.Project
		}
	}
	return gcpwire.Open(ctx, s, r)
}

// OpenRemembered opens a cluster as it is recorded.
func (p *provider) OpenRemembered(ctx context.Context, s *term.Streams, q wire.CloudRequest) (*wire.CloudCluster, error) {
	return gcpwire.OpenRemembered(ctx, s, p.newRequest(q))
}

// Known lists the clusters of a project.
func (p *provider) Known(ctx context.Context, project string) ([]wire.ListedCluster, error) {
	a := p.Account
	a.Project = project
	return gcpwire.Known(ctx, a)
}

// List lists the clusters of the project, in one region or in all.
func (p *provider) List(ctx context.Context, region string) (all []wire.ListedCluster, place string, err error) {
	all, err = gcpwire.List(ctx, region, p.Account)
	return all, region, err
}
