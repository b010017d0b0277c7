package gcp

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	gcpwire "github.com/det-deploy/det-deploy/cmd/internal/wire/gcp"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// The keys of the Google Cloud pages of the form. Each is the path of its setting.
const (
	pageProject = "project"
	pageMachine = "pools.*.machines"
)

// form asks for the settings of a new cluster on Google Cloud.
type form struct {
	*clouds.Completion

	p      *provider
	advice gcpwire.Advice
	// regions are the regions of clusters by project and ID, "" for a new one.
	regions wire.Fetched[string]
}

// Ask returns the form for a new cluster.
func (p *provider) Ask(c *clouds.Completion) term.Form {
	f := &form{Completion: c, p: p}
	c.Questions = clouds.Questions{
		Places: []string{pageProject, clouds.PageRegion}, MachinePage: pageMachine, Locate: f.locate,
		New:    func() clouds.PooledCluster { return new(spec.GCP) },
		Advise: f.advise, Skip: func(a term.Answer) bool { return a.Key == pageAPIs },
	}
	c.Account = f.accountFlags()
	return term.Form{Title: "Create a cluster on Google Cloud", Pages: []term.Page{
		{Key: cluster.IDPage, Field: c.AskCluster},
		{Key: pageProject, Field: clouds.Remembered(f.askProject)},
		{Key: pageAPIs, Field: f.askAPIs},
		{Key: clouds.PageRegion, Field: clouds.Remembered(f.askRegion)},
		{Key: clouds.PageInbound, Field: c.UnlessKnown(c.AskInbound)},
		{Key: pageMachine, Field: c.UnlessKnown(f.askMachine)},
		{Key: clouds.PageAgents, Field: c.UnlessKnown(f.askAgents)},
	}}
}

// accountFlags returns the flags that select the account.
func (f *form) accountFlags() []string {
	if f.p.Impersonate == "" {
		return nil
	}
	return []string{"--impersonate", f.p.Impersonate}
}

// locate returns the project and the region. The equivalent command names also a project that is the
// environment's.
func (f *form) locate(ctx context.Context, a term.Answers) string {
	project := f.projectOf(ctx, a)
	_, answered := a.Get(pageProject)
	if _, said := f.GivenValue(pageProject); !said && !answered && project != "" {
		f.Account = append(f.accountFlags(), "--project", project)
	}
	return project + "/" + f.regionOf(ctx, a)
}

// account returns the credentials for calls about the answered project.
func (f *form) account(ctx context.Context, a term.Answers) gcpwire.Account {
	out := f.p.Account
	out.Project = f.projectOf(ctx, a)
	return out
}

// projectOf returns the answered project, or else the one given by flag, variable or file, or the
// environment's default.
func (f *form) projectOf(ctx context.Context, a term.Answers) string {
	if answer, ok := a.Get(pageProject); ok {
		return answer
	}
	project, err := gcpwire.ProjectOf(ctx, f.p.newRequest(f.Describe(a)))
	if err != nil {
		return "" // the form asks for it
	}
	return project
}

// regionOf returns the answered region. Without an answer, it returns the region given by flag, variable
// or file, or that of the cluster or of its kept resources, or "".
func (f *form) regionOf(ctx context.Context, a term.Answers) string {
	if answer, ok := a.Get(clouds.PageRegion); ok {
		return answer
	}
	q := f.p.newRequest(f.Describe(a))
	q.Project = f.projectOf(ctx, a)
	region, err := f.regions.Get(q.Project+"/"+f.ClusterID(a), func() (string, error) { return gcpwire.FindRegion(ctx, q) })
	if err != nil {
		return "" // the form asks for it
	}
	return region
}

func (f *form) advise(ctx context.Context, a term.Answers) (err error) {
	f.advice, err = f.account(ctx, a).Advise(ctx, f.regionOf(ctx, a))
	return err
}

// askProject asks for the project if it is not known. A caller without permission to list projects types
// its ID.
func (f *form) askProject(ctx context.Context, a term.Answers) (*term.Field, error) {
	if f.projectOf(ctx, a) != "" {
		return nil, nil
	}
	projects, err := f.p.Projects(ctx)
	if err != nil {
		return nil, err
	}
	return &term.Field{
		Label: "Project", Help: "The ID of the Google project. Neither --project nor gcloud's default is set.", Flag: "--project", Choices: projects,
		Check: func(_ context.Context, id string) error {
			return (&provider{Account: gcpwire.Account{Project: id}}).Check("")
		},
	}, nil
}

// askRegion asks for the region if it is not known.
func (f *form) askRegion(ctx context.Context, a term.Answers) (*term.Field, error) {
	f.ShowPlace(a, f.projectOf(ctx, a)+"/")
	if f.regionOf(ctx, a) != "" {
		return nil, nil
	}
	regions, preferred, err := f.account(ctx, a).Regions(ctx)
	return clouds.AskRegion(regions, preferred, "Neither --region nor gcloud's default is set."), err
}

func (f *form) askMachine(ctx context.Context, _ term.Answers) (*term.Field, error) {
	if _, said := f.GivenValue(pageMachine); said || f.HasPools() {
		return nil, nil
	}
	advice := f.advice
	choices, err := advice.GPUMachines(ctx)
	if err != nil {
		return nil, err
	}
	return &term.Field{
		Label: "Machine type", Help: "The machine type of the compute pool, with its zones. Machines are launched for waiting tasks.",
		Flag: "--machine", Default: defaultMachine(), Choices: choices, Check: advice.Offered,
	}, nil
}

func defaultMachine() string { return spec.DefaultGCPPool().Machines[0].Type().String() }

// machine returns the machine type of the compute pool: the answered or given one, or the default.
func (f *form) machine(a term.Answers) string {
	if answer, ok := a.Get(pageMachine); ok {
		return answer
	}
	if types, said := f.GivenValue(pageMachine); said {
		first, _, _ := strings.Cut(types, ",")
		return first
	}
	return defaultMachine()
}

func (f *form) askAgents(_ context.Context, a term.Answers) (*term.Field, error) {
	machine, advice := f.machine(a), f.advice
	return f.AskAgents(spec.DefaultGCPPool().MaxAgents, func(ctx context.Context, n int) error { return advice.Room(ctx, machine, n) })
}
