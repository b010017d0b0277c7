package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// Advice answers questions about AWS for the form of a new cluster. It makes no call twice.
type Advice struct {
	facts  facts.Facts
	types  *wire.Fetched[offeredType] // by name
	limits *wire.Fetched[int]         // by the code of the quota
}

// offeredType is an instance type, if the region offers it.
type offeredType struct {
	facts.Type

	offered bool
}

// Advise returns an Advice for a region, or for the first one if region is empty.
func Advise(ctx context.Context, region, profile string) (Advice, error) {
	if region == "" {
		region = homeRegion
	}
	c, err := api.Open(ctx, api.Options{Region: region, Profile: profile})
	return newAdvice(facts.Facts{Clients: c}), err
}

func newAdvice(f facts.Facts) Advice {
	return Advice{facts: f, types: new(wire.Fetched[offeredType]), limits: new(wire.Fetched[int])}
}

// findType returns an instance type of the region.
func (a Advice) findType(ctx context.Context, name string) (offeredType, error) {
	return a.types.Get(name, func() (offeredType, error) {
		all, err := a.facts.Types(ctx, name)
		t, offered := all[name]
		return offeredType{t, offered}, err
	})
}

// KeyPairs lists the key pairs of the region.
func (a Advice) KeyPairs(ctx context.Context) ([]string, error) { return a.facts.KeyPairs(ctx) }

// GPUTypes lists the region's GPU instance types, smallest first. If stock is set, it omits those for
// which the stock image of agents has no driver.
func (a Advice) GPUTypes(ctx context.Context, stock bool) ([]term.Choice, error) {
	types, err := a.facts.GPUTypes(ctx)
	out := make([]term.Choice, 0, len(types))
	for _, t := range types {
		a.types.Put(t.Name, offeredType{t, true})
		if fit, _ := facts.AgentStock().Fit(t); stock && fit == facts.FitsNot {
			continue
		}
		_, about, _ := strings.Cut(t.String(), " ")
		out = append(out, term.Choice{Value: t.Name, About: strings.Trim(about, "()"), Words: fmt.Sprintf("%s %d GB", t.GPU, t.GPUMemory>>10)})
	}
	return out, err
}

// Offered returns an error if the region does not offer an instance type or, with stock set, if the stock
// image of agents has no driver for it.
func (a Advice) Offered(ctx context.Context, name string, stock bool) error {
	t, err := a.findType(ctx, name)
	if err != nil {
		return err
	}
	if !t.offered {
		return fmt.Errorf("there is no instance type %s in %s", name, a.facts.Clients.Region)
	}
	if fit, why := facts.AgentStock().Fit(t.Type); stock && fit == facts.FitsNot {
		return errors.New(why)
	}
	return nil
}

// Room returns an error if the account's quota does not allow n machines of a type. It returns nil if the
// quota is unknown.
func (a Advice) Room(ctx context.Context, name string, n int) error {
	t, err := a.findType(ctx, name)
	q, limited := facts.VCPUQuota(name, false)
	if err != nil || t.VCPU == 0 || !limited {
		return nil //nolint:nilerr // the checks report the error
	}
	limit, err := a.limits.Get(q.Code, func() (int, error) { return a.facts.Limit(ctx, q) })
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	if need := t.VCPU * n; need > limit {
		return fmt.Errorf("%d of %s have %d vCPUs, and the account's quota of %s is %d; request an increase at %s",
			n, name, need, q.What, limit, q.Console(a.facts.Clients.Region))
	}
	return nil
}
