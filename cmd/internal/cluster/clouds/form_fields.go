package clouds

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

// Remembered returns ask with its last question kept for the same preceding answers, so that nothing is
// fetched again if the user goes back and forth.
func Remembered(ask cluster.Ask) cluster.Ask {
	var before term.Answers
	var field *term.Field
	asked := false
	return func(ctx context.Context, a term.Answers) (*term.Field, error) {
		if asked && slices.Equal(before, a) {
			return field, nil
		}
		f, err := ask(ctx, a)
		if err == nil {
			before, field, asked = slices.Clone(a), f, true
		}
		return f, err
	}
}

// UnlessKnown skips a question if the cluster has a record.
func (c *Completion) UnlessKnown(ask cluster.Ask) cluster.Ask {
	ask = Remembered(ask)
	return func(ctx context.Context, a term.Answers) (*term.Field, error) {
		if err := c.settle(ctx, a); err != nil || c.Known {
			return nil, err
		}
		return ask(ctx, a)
	}
}

// AskCluster returns the question for the cluster ID.
func (c *Completion) AskCluster(context.Context, term.Answers) (*term.Field, error) {
	return cluster.AskID(c.Cluster, "The name by which commands find the cluster."), nil
}

// AskRegion returns the question for the region. Preferred is the environment's region, and unset is help
// that says that there is none.
func AskRegion(regions []term.Choice, preferred, unset string) *term.Field {
	f := &term.Field{Label: "Region", Help: "The cluster's region. " + unset, Flag: "--region", Choices: regions, Check: OneOf(regions, "region")}
	if slices.ContainsFunc(regions, func(c term.Choice) bool { return c.Value == preferred }) {
		f.Help, f.Default = "The cluster's region.", preferred
	}
	return f
}

// OneOf returns a check that accepts only one of the choices.
func OneOf(choices []term.Choice, what string) func(context.Context, string) error {
	return func(_ context.Context, answer string) error {
		if slices.ContainsFunc(choices, func(c term.Choice) bool { return c.Value == answer }) {
			return nil
		}
		return fmt.Errorf("there is no %s %s", what, answer)
	}
}

// AskInbound asks for the address ranges that may reach the master, if the address of this machine is
// unknown.
func (c *Completion) AskInbound(context.Context, term.Answers) (*term.Field, error) {
	if _, said := c.GivenValue(PageInbound); said || c.address != "" {
		return nil, nil
	}
	return &term.Field{
		Label: "Inbound addresses", Flag: inboundFlag,
		Help:  "An address range such as 203.0.113.7/32; 0.0.0.0/0 allows all. This machine's address could not be determined.",
		Check: func(_ context.Context, r string) error { return checkRanges(r) },
	}, nil
}

func checkRanges(ranges string) error {
	for one := range strings.SplitSeq(ranges, ",") {
		one = strings.TrimSpace(one)
		if a, err := netip.ParseAddr(one); err == nil && a.Is4() {
			continue
		}
		if p, err := netip.ParsePrefix(one); err != nil || !p.Addr().Is4() {
			return errors.New("must be an IPv4 address range such as 203.0.113.7/32")
		}
	}
	return nil
}

// AskAgents asks for the maximum number of agents; room checks whether quotas allow that number.
func (c *Completion) AskAgents(preset int, room func(context.Context, int) error) (*term.Field, error) {
	if _, said := c.GivenValue(PageAgents); said || c.HasPools() {
		return nil, nil
	}
	return &term.Field{
		Label: "Maximum number of agents", Help: "The maximum number of machines in the compute pool.", Flag: "--max-agents",
		Default: strconv.Itoa(preset),
		Check: func(ctx context.Context, text string) error {
			if err := cluster.CheckCount(text); err != nil {
				return err
			}
			n, _ := strconv.Atoi(text) // CheckCount has validated the number
			return room(ctx, n)
		},
	}, nil
}
