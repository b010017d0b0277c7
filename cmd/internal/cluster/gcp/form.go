package gcp

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	gcpwire "github.com/det-deploy/det-deploy/cmd/internal/wire/gcp"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// The keys of the form's own pages, which are the settings' paths.
const (
	pageProject = "project"
	pageMachine = "pools.*.machines"
)

// form asks a person for what a new cluster on Google Cloud needs.
type form struct {
	*clouds.Completion

	p      *provider
	advice gcpwire.Advice
}

// Ask prepares the questions about a new cluster.
func (p *provider) Ask(c *clouds.Completion) term.Form {
	f := &form{Completion: c, p: p}
	c.Questions = clouds.Questions{
		Places: []string{pageProject, clouds.PageRegion}, MachinePage: pageMachine, Machine: f.machine,
		Locate: func(ctx context.Context, a term.Answers) string {
			return f.projectOf(ctx, a) + "/" + f.regionOf(ctx, a)
		},
		Advise: f.advise, Skip: func(a term.Answer) bool { return a.Key == pageAPIs },
	}
	if p.Impersonate != "" {
		c.Account = []string{"--impersonate", p.Impersonate}
	}
	return term.Form{Title: "Create a cluster on Google Cloud", Pages: []term.Page{
		{Key: cluster.IDPage, Field: c.AskCluster},
		{Key: pageProject, Field: f.askProject},
		{Key: pageAPIs, Field: f.askAPIs},
		{Key: clouds.PageRegion, Field: f.askRegion},
		{Key: clouds.PageInbound, Field: c.UnlessKnown(c.AskInbound)},
		{Key: pageMachine, Field: c.UnlessKnown(f.askMachine)},
		{Key: clouds.PageAgents, Field: c.UnlessKnown(f.askAgents)},
	}}
}

// account is as whom Google is asked about the project of the answers.
func (f *form) account(ctx context.Context, a term.Answers) gcpwire.Account {
	out := f.p.Account
	out.Project = f.projectOf(ctx, a)
	return out
}

// projectOf is the answer, or else what is said or what the environment has.
func (f *form) projectOf(ctx context.Context, a term.Answers) string {
	if answer, ok := a.Get(pageProject); ok {
		return answer
	}
	project, err := gcpwire.ProjectOf(ctx, f.p.newRequest(f.Describe(a)))
	if err != nil {
		return "" // it is asked for
	}
	return project
}

// regionOf is the answer, or else what is said, where the cluster or what was kept of it
// is, or what the environment has.
func (f *form) regionOf(ctx context.Context, a term.Answers) string {
	if answer, ok := a.Get(clouds.PageRegion); ok {
		return answer
	}
	q := f.p.newRequest(f.Describe(a))
	q.Project = f.projectOf(ctx, a)
	place, err := gcpwire.Locate(ctx, q)
	if err != nil {
		return "" // it is asked for
	}
	return place.Region
}

func (f *form) advise(ctx context.Context, a term.Answers) (err error) {
	f.advice, err = f.account(ctx, a).Advise(ctx, f.regionOf(ctx, a))
	return err
}

// askProject asks where nothing says the project. Who may not list projects names one.
func (f *form) askProject(ctx context.Context, a term.Answers) (*term.Field, error) {
	if f.projectOf(ctx, a) != "" {
		return nil, nil
	}
	projects, err := f.p.Projects(ctx)
	if err != nil {
		return nil, err
	}
	return &term.Field{
		Label: "Project", Help: "The Google project, by its id. Neither --project nor gcloud says so.", Flag: "--project", Choices: projects,
		Check: func(_ context.Context, id string) error {
			return (&provider{Account: gcpwire.Account{Project: id}}).Check("")
		},
	}, nil
}

// askRegion asks where nothing says the region.
func (f *form) askRegion(ctx context.Context, a term.Answers) (*term.Field, error) {
	if f.regionOf(ctx, a) != "" {
		return nil, nil
	}
	regions, err := f.account(ctx, a).Regions(ctx)
	return clouds.AskRegion(regions, "Where the cluster runs. Neither --region nor gcloud says so."), err
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
		Label: "Machine type", Help: "What the machines of the compute pool are, and in which zones; they are launched when tasks wait.",
		Flag: "--machine", Default: defaultMachine(), Choices: choices, Check: advice.Offered,
	}, nil
}

func defaultMachine() string { return spec.DefaultGCPPool().Machines[0].Type().String() }

// machine is the one of the compute pool, as far as it is known.
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
