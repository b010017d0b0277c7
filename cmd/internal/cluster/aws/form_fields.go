package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster/hosted"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	awswire "github.com/det-deploy/det-deploy/cmd/internal/wire/aws"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// askRegion asks where nothing says the region.
func (c *completion) askRegion(ctx context.Context, a term.Answers) (*term.Field, error) {
	if c.regionOf(ctx, a) != "" {
		return nil, nil
	}
	first, err := awswire.Advise(ctx, "", c.w.Profile)
	if err != nil {
		return nil, err
	}
	regions, err := first.Regions(ctx, c.w.Profile)
	if err != nil {
		return nil, err
	}
	return &term.Field{
		Label: "Region", Help: "Where the cluster runs. Neither --region nor AWS_REGION says so.", Flag: "--region",
		Choices: regions,
		Check: func(_ context.Context, r string) error {
			if slices.ContainsFunc(regions, func(c term.Choice) bool { return c.Value == r }) {
				return nil
			}
			return fmt.Errorf("there is no region %s", r)
		},
	}, nil
}

func (c *completion) askType(ctx context.Context, _ term.Answers) (*term.Field, error) {
	if _, said := c.GivenValue(pageType); said || c.HasPools() {
		return nil, nil
	}
	_, existing := c.GivenValue("agents.image")
	advice := c.settled.advice
	choices, err := advice.GPUTypes(ctx, !existing)
	if err != nil {
		return nil, err
	}
	return &term.Field{
		Label: "Instance type", Help: "What the machines of the compute pool are; they are launched when tasks wait.",
		Flag: "--instance-type", Default: spec.DefaultAWSPool().InstanceTypes[0], Choices: choices,
		Check: func(ctx context.Context, name string) error { return advice.Offered(ctx, name, !existing) },
	}, nil
}

// instanceType is the one of the compute pool's machines, as far as it is known.
func (c *completion) instanceType(a term.Answers) string {
	if answer, ok := a.Get(pageType); ok {
		return answer
	}
	if types, said := c.GivenValue(pageType); said {
		first, _, _ := strings.Cut(types, ",")
		return first
	}
	return spec.DefaultAWSPool().InstanceTypes[0]
}

func (c *completion) askAgents(_ context.Context, a term.Answers) (*term.Field, error) {
	kind, advice := c.instanceType(a), c.settled.advice
	return c.AskAgents(spec.DefaultAWSPool().MaxAgents, func(ctx context.Context, n int) error { return advice.Room(ctx, kind, n) })
}

func (c *completion) askKeyPair(ctx context.Context, _ term.Answers) (*term.Field, error) {
	if _, said := c.GivenValue(pageKeyPair); said {
		return nil, nil
	}
	names, err := c.settled.advice.KeyPairs(ctx)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	f := &term.Field{
		Label: "Key pair", Help: "For SSH to the machines; the cluster needs none.", Flag: "--key-pair", Default: noKeyPair,
		Choices: []term.Choice{{Value: noKeyPair, About: "no SSH access to the machines"}},
		Check: func(_ context.Context, name string) error {
			return awswire.Has(append(slices.Clone(names), noKeyPair), name, "key pair")
		},
	}
	for _, n := range names {
		f.Choices = append(f.Choices, term.Choice{Value: n})
	}
	return f, nil
}

// summarizeAnswers says what the answers come to. Nothing is asked of AWS for it.
func (c *completion) summarizeAnswers(a term.Answers) []string {
	var out []string
	if id := c.ClusterID(a); id != "" {
		line := "Cluster " + id
		if region, ok := a.Get(pageRegion); ok {
			line += " in " + region
		}
		out = append(out, line)
	}
	if ranges, ok := a.Get(hosted.PageInbound); ok {
		out = append(out, "Its master is reached from "+ranges)
	}
	if _, ok := a.Get(pageType); !ok {
		return out
	}
	line := "Its agents are " + c.instanceType(a)
	if n, ok := a.Get(hosted.PageAgents); ok {
		line += ", from 0 to " + n + " as tasks need them"
	}
	return append(out, line)
}
