package clouds

import (
	"context"
	"errors"
	"slices"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
)

// settled identifies a cluster by its ID and location.
type settled struct{ cluster, place string }

// findRecord reports whether a cluster has a record, or had one whose settings are kept. It returns a *LostError if the cluster runs without
// one.
func (c *Completion) findRecord(ctx context.Context, id string, g spec.Given) (bool, error) {
	q := c.describe(id, &g)
	o, err := c.Provider.OpenRemembered(ctx, c.Streams, q)
	if err != nil {
		return false, err
	}
	lost, err := o.Lost(ctx)
	if lost {
		err = errors.Join(err, &LostError{Platform: c.Words.Name, Cluster: id})
	}
	_, known := o.Recorded()
	return known || o.Removed, err
}

func (c *Completion) describe(id string, g *spec.Given) wire.CloudRequest {
	q := c.request(cluster.Request{}, g)
	q.Cluster = id
	return q
}

// Describe returns the request for the cluster with the answers applied.
func (c *Completion) Describe(a term.Answers) wire.CloudRequest {
	return c.describe(c.ClusterID(a), c.Given)
}

// settle looks up the cluster of the answers, once per ID and location.
func (c *Completion) settle(ctx context.Context, a term.Answers) error {
	s := settled{c.ClusterID(a), c.Locate(ctx, a)}
	if c.settled == s {
		return nil
	}
	given := *c.Given
	given.Flags = slices.Clone(given.Flags)
	for _, one := range a {
		if slices.Contains(c.Places, one.Key) {
			given.Flags = append(given.Flags, document.Given{Path: one.Key, Value: one.Value, Source: one.Flag})
		}
	}
	if err := c.Advise(ctx, a); err != nil {
		return err
	}
	known, err := c.findRecord(ctx, s.cluster, given)
	if err != nil {
		return err
	}
	if !known {
		c.learnAddress(ctx)
	}
	c.settled, c.Known = s, known
	c.ShowPlace(a, s.place)
	return nil
}
