package aws

import (
	"context"
	"errors"
	"slices"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster/hosted"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	awswire "github.com/det-deploy/det-deploy/cmd/internal/wire/aws"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// The keys of the form's pages, which are the settings' paths.
const (
	pageRegion  = "region"
	pageType    = "pools.*.instance_types"
	pageKeyPair = "key_pair"
	noKeyPair   = "none" // the answer for a cluster without SSH access
)

// completion asks a person for what a new cluster on AWS needs.
type completion struct {
	*hosted.Completion

	w *wanted
	// settled is what was found out of the cluster and region of the answers.
	settled settled
}

// settled is what a cluster's id and a region lead to.
type settled struct {
	cluster, region string
	advice          awswire.Advice
}

func (w *wanted) newCompletion(g *spec.Given) *completion {
	c := &completion{w: w, Completion: &hosted.Completion{
		Streams: w.Streams, Flags: &w.Flags, Platform: name, Given: g, FindRecord: w.findRecord,
		Skip: func(a term.Answer) bool { return a.Key == pageKeyPair && a.Value == noKeyPair },
	}}
	c.Settle = c.settleAdvice
	if w.Profile != "" {
		c.Account = []string{"--profile", w.Profile}
	}
	return c
}

// findRecord reports whether a cluster has a record. Nothing is asked of who has one whose
// record is lost.
func (w *wanted) findRecord(ctx context.Context, id string, g spec.Given) (bool, error) {
	q := w.buildRequest(cluster.Request{}, &g)
	q.Cluster = id
	known, lost, err := awswire.IsKnown(ctx, w.Streams, q)
	if lost {
		err = errors.Join(err, &hosted.LostError{Platform: name, Cluster: id})
	}
	return known, err
}

func (c *completion) buildForm() term.Form {
	return term.Form{
		Title: "Create a cluster on AWS", Summary: c.summarizeAnswers, Lines: c.Verbose,
		Pages: []term.Page{
			{Key: hosted.PageCluster, Field: c.AskCluster},
			{Key: pageRegion, Field: c.askRegion},
			{Key: hosted.PageInbound, Field: c.UnlessKnown(c.AskInbound)},
			{Key: pageType, Field: c.UnlessKnown(c.askType)},
			{Key: hosted.PageAgents, Field: c.UnlessKnown(c.askAgents)},
			{Key: pageKeyPair, Field: c.UnlessKnown(c.askKeyPair)},
		},
	}
}

// regionOf is the answer, or else what is said, where the cluster or what was kept of it
// is, or what the environment has.
func (c *completion) regionOf(ctx context.Context, a term.Answers) string {
	if answer, ok := a.Get(pageRegion); ok {
		return answer
	}
	q := c.w.buildRequest(cluster.Request{}, c.Given)
	q.Cluster = c.ClusterID(a)
	region, err := awswire.RegionOf(ctx, q)
	if err != nil {
		return "" // it is asked for
	}
	return region
}

// settleAdvice looks at what the cluster's id and the region lead to, once for each.
func (c *completion) settleAdvice(ctx context.Context, a term.Answers) error {
	s := settled{cluster: c.ClusterID(a), region: c.regionOf(ctx, a)}
	if c.settled.cluster == s.cluster && c.settled.region == s.region {
		return nil
	}
	given := *c.Given
	given.Flags = slices.Clone(given.Flags)
	for _, one := range a {
		if one.Key == pageRegion {
			given.Flags = append(given.Flags, document.Given{Path: one.Key, Value: one.Value, Source: one.Flag})
		}
	}
	var err error
	if s.advice, err = awswire.Advise(ctx, s.region, c.w.Profile); err != nil {
		return err
	}
	known, err := c.w.findRecord(ctx, s.cluster, given)
	if err != nil {
		return err
	}
	if !known {
		c.LearnAddress(ctx)
	}
	c.settled, c.Known = s, known
	return nil
}
