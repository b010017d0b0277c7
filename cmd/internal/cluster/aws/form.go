package aws

import (
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/clouds"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	awswire "github.com/det-deploy/det-deploy/cmd/internal/wire/aws"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// The keys of the AWS pages of the form. Each is the path of its setting.
const (
	pageType    = "pools.*.instance_types"
	pageKeyPair = "key_pair"
	noKeyPair   = "none" // answer for a cluster without SSH access
)

// form asks for the settings of a new cluster on AWS.
type form struct {
	*clouds.Completion

	p      *provider
	advice awswire.Advice
	// regions are the regions of clusters by ID, "" for a new one.
	regions wire.Fetched[string]
}

// Ask returns the form for a new cluster.
func (p *provider) Ask(c *clouds.Completion) term.Form {
	f := &form{Completion: c, p: p}
	c.Questions = clouds.Questions{
		Places: []string{clouds.PageRegion}, Locate: f.regionOf, Advise: f.advise, MachinePage: pageType,
		New:  func() clouds.PooledCluster { return new(spec.AWS) },
		Skip: func(a term.Answer) bool { return a.Key == pageKeyPair && a.Value == noKeyPair },
	}
	if p.Profile != "" {
		c.Account = []string{"--profile", p.Profile}
	}
	return term.Form{Title: "Create a cluster on AWS", Pages: []term.Page{
		{Key: cluster.IDPage, Field: c.AskCluster},
		{Key: clouds.PageRegion, Field: clouds.Remembered(f.askRegion)},
		{Key: clouds.PageInbound, Field: c.UnlessKnown(c.AskInbound)},
		{Key: pageType, Field: c.UnlessKnown(f.askType)},
		{Key: clouds.PageAgents, Field: c.UnlessKnown(f.askAgents)},
		{Key: pageKeyPair, Field: c.UnlessKnown(f.askKeyPair)},
	}}
}

// regionOf returns the answered region. Without an answer, it returns the region given by flag, variable
// or file, or that of the cluster or of its kept resources, or "".
func (f *form) regionOf(ctx context.Context, a term.Answers) string {
	if answer, ok := a.Get(clouds.PageRegion); ok {
		return answer
	}
	region, err := f.regions.Get(f.ClusterID(a), func() (string, error) {
		return awswire.FindRegion(ctx, f.p.newRequest(f.Describe(a)))
	})
	if err != nil {
		return "" // the form asks for it
	}
	return region
}

func (f *form) advise(ctx context.Context, a term.Answers) (err error) {
	f.advice, err = awswire.Advise(ctx, f.regionOf(ctx, a), f.p.Profile)
	return err
}

// askRegion asks for the region if it is not known.
func (f *form) askRegion(ctx context.Context, a term.Answers) (*term.Field, error) {
	if f.regionOf(ctx, a) != "" {
		return nil, nil
	}
	first, err := awswire.Advise(ctx, "", f.p.Profile)
	if err != nil {
		return nil, err
	}
	preferred, err := awswire.DefaultRegion(ctx, f.p.Profile)
	if err != nil {
		preferred = "" // none is set
	}
	regions, err := first.Regions(ctx, f.p.Profile, preferred)
	return clouds.AskRegion(regions, preferred, "Neither --region nor AWS_REGION is set."), err
}

func (f *form) askType(ctx context.Context, _ term.Answers) (*term.Field, error) {
	if _, said := f.GivenValue(pageType); said || f.HasPools() {
		return nil, nil
	}
	_, existing := f.GivenValue("agents.image")
	advice := f.advice
	choices, err := advice.GPUTypes(ctx, !existing)
	if err != nil {
		return nil, err
	}
	return &term.Field{
		Label: "Instance type", Help: "The machine type of the compute pool. Machines are launched for waiting tasks.",
		Flag: "--instance-type", Default: spec.DefaultAWSPool().InstanceTypes[0], Choices: choices,
		Check: func(ctx context.Context, name string) error { return advice.Offered(ctx, name, !existing) },
	}, nil
}

// instanceType returns the instance type of the compute pool: the answered or given one, or the default.
func (f *form) instanceType(a term.Answers) string {
	if answer, ok := a.Get(pageType); ok {
		return answer
	}
	if types, said := f.GivenValue(pageType); said {
		first, _, _ := strings.Cut(types, ",")
		return first
	}
	return spec.DefaultAWSPool().InstanceTypes[0]
}

func (f *form) askAgents(_ context.Context, a term.Answers) (*term.Field, error) {
	kind, advice := f.instanceType(a), f.advice
	return f.AskAgents(spec.DefaultAWSPool().MaxAgents, func(ctx context.Context, n int) error { return advice.Room(ctx, kind, n) })
}

func (f *form) askKeyPair(ctx context.Context, _ term.Answers) (*term.Field, error) {
	if _, said := f.GivenValue(pageKeyPair); said {
		return nil, nil
	}
	names, err := f.advice.KeyPairs(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	choices := []term.Choice{{Value: noKeyPair, About: "no SSH access to the machines"}}
	for _, n := range names {
		choices = append(choices, term.Choice{Value: n})
	}
	return &term.Field{
		Label: "Key pair", Help: "For SSH access to the machines; optional.", Flag: "--key-pair", Default: noKeyPair,
		Choices: choices, Check: clouds.OneOf(choices, "key pair"),
	}, nil
}
