package aws

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/hosted"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// The keys of the form's pages. Those of settings are the settings' paths.
const (
	pageCluster = "cluster"
	pageRegion  = "region"
	pageInbound = "network.inbound_cidrs"
	pageType    = "pools.*.instance_types"
	pageAgents  = "pools.*.max_agents"
	pageKeyPair = "key_pair"
	noKeyPair   = "none" // the answer for a cluster without SSH access
	inboundFlag = "--inbound-cidr"
)

// completion asks a person for what a new cluster needs and no flag or file says.
// Whatever is answered could have been given by a flag, and is shown as such.
type completion struct {
	*term.Streams

	w     *wanted
	given *spec.Given
	// settled is what was found out of the cluster and region of the answers.
	settled settled
	// address is this machine's own, as others see it; empty where it could not be learned.
	address string
}

// settled is what a cluster's id and a region lead to.
type settled struct {
	cluster, region string
	advice          wire.AWSAdvice
	// known is true when the cluster has a record, which says the rest.
	known bool
}

// completeSettings fills in what can be inferred, and asks for the rest where ask is true
// and stdin is a terminal.
func (w *wanted) completeSettings(ctx context.Context, s *term.Streams, g *spec.Given, ask bool) error {
	ask = ask && s.CanAsk()
	if w.Cluster != "" || !ask {
		if err := w.validate(); err != nil {
			return err
		}
	}
	c := &completion{Streams: s, w: w, given: g}
	if !ask {
		return c.completeAlone(ctx)
	}
	answers, err := s.FillForm(ctx, c.buildForm())
	if err != nil {
		return err
	}
	c.applyAnswers(answers)
	return nil
}

// completeAlone fills in what can be inferred and does not ask.
func (c *completion) completeAlone(ctx context.Context) error {
	known, err := c.w.hasRecord(ctx, c.Streams, c.w.Cluster, *c.given)
	if err != nil || known {
		return err
	}
	c.learnAddress(ctx)
	c.letIn() // without an address the rules of the setting name the flag
	return nil
}

// hasRecord reports whether a cluster has a record, which says the rest. Nothing is
// asked of who has one whose record is lost.
func (w *wanted) hasRecord(ctx context.Context, s *term.Streams, id string, g spec.Given) (bool, error) {
	q := w.buildRequest(cluster.Request{}, &g)
	q.Cluster = id
	known, lost, err := wire.KnowsAWS(ctx, s, q)
	if lost {
		err = errors.Join(err, &hosted.LostError{Platform: name, Cluster: id})
	}
	return known, err
}

func (c *completion) buildForm() term.Form {
	return term.Form{
		Title: "Create a cluster on AWS", Summary: c.summarizeAnswers, Lines: c.w.Verbose,
		Pages: []term.Page{
			{Key: pageCluster, Field: c.askCluster},
			{Key: pageRegion, Field: c.askRegion},
			{Key: pageInbound, Field: c.unlessKnown(c.askInbound)},
			{Key: pageType, Field: c.unlessKnown(c.askType)},
			{Key: pageAgents, Field: c.unlessKnown(c.askAgents)},
			{Key: pageKeyPair, Field: c.unlessKnown(c.askKeyPair)},
		},
	}
}

// asks is how a page comes to its question.
type asks = func(context.Context, term.Answers) (*term.Field, error)

// unlessKnown asks nothing of a cluster that has a record.
func (c *completion) unlessKnown(ask asks) asks {
	return func(ctx context.Context, a term.Answers) (*term.Field, error) {
		if err := c.settleAdvice(ctx, a); err != nil || c.settled.known {
			return nil, err
		}
		return ask(ctx, a)
	}
}

func (c *completion) clusterID(a term.Answers) string {
	answer, _ := a.Get(pageCluster)
	return cmp.Or(c.w.Cluster, answer)
}

// regionOf is the answer, or else what is said, where the cluster or what was kept of it
// is, or what the environment has.
func (c *completion) regionOf(ctx context.Context, a term.Answers) string {
	if answer, ok := a.Get(pageRegion); ok {
		return answer
	}
	q := c.w.buildRequest(cluster.Request{}, c.given)
	q.Cluster = c.clusterID(a)
	region, err := wire.RegionOf(ctx, q)
	if err != nil {
		return "" // it is asked for
	}
	return region
}

// settleAdvice looks at what the cluster's id and the region lead to, once for each.
func (c *completion) settleAdvice(ctx context.Context, a term.Answers) error {
	s := settled{cluster: c.clusterID(a), region: c.regionOf(ctx, a)}
	if c.settled.cluster == s.cluster && c.settled.region == s.region {
		return nil
	}
	given := *c.given
	given.Flags = slices.Clone(given.Flags)
	for _, one := range a {
		if one.Key == pageRegion {
			given.Flags = append(given.Flags, document.Given{Path: one.Key, Value: one.Value, Source: one.Flag})
		}
	}
	var err error
	if s.advice, err = wire.AdviseAWS(ctx, s.region, c.w.Profile); err != nil {
		return err
	}
	if s.known, err = c.w.hasRecord(ctx, c.Streams, s.cluster, given); err != nil {
		return err
	}
	if !s.known {
		c.learnAddress(ctx)
	}
	c.settled = s
	return nil
}

// learnAddress asks, once, how this machine is seen: it alone may reach the master, unless
// the user says otherwise.
func (c *completion) learnAddress(ctx context.Context) {
	if _, said := c.givenValue(pageInbound); said || c.address != "" {
		return
	}
	if own, err := wire.OwnAddress(ctx, c.Streams); err == nil {
		c.address = own
	}
}

// letIn lets this machine's address reach the master.
func (c *completion) letIn() {
	if c.address == "" {
		return
	}
	c.addFlag(pageInbound, inboundFlag, c.address)
	c.Notef("Only this machine's address, %s, can reach the master; %s admits others.", c.address, inboundFlag)
}

// applyAnswers keeps the answers as if their flags had been given.
func (c *completion) applyAnswers(a term.Answers) {
	c.w.Cluster = c.clusterID(a)
	for _, one := range a {
		if one.Key != pageCluster && (one.Key != pageKeyPair || one.Value != noKeyPair) {
			c.addFlag(one.Key, one.Flag, one.Value)
		}
	}
	if c.settled.known {
		return
	}
	c.letIn()
	if len(a) > 0 {
		c.printEquivalent()
	}
}

func (c *completion) addFlag(path, flag, value string) {
	c.given.Flags = append(c.given.Flags, document.Given{Path: path, Value: value, Source: flag})
}

// givenValue is what the user said of a setting by flag, variable or file.
func (c *completion) givenValue(path string) (value string, said bool) {
	value, said, _ = c.given.Lookup(path) // the file's next reader has the better error
	return value, said
}

// hasPools reports whether the file describes pools of its own.
func (c *completion) hasPools() bool {
	_, said := c.givenValue("pools")
	return said
}
