package mark

import (
	"context"
	"maps"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Labelled are the labels of an object, with what a change of them has to name.
type Labelled struct {
	Labels      map[string]string
	Fingerprint string
}

// Relabel puts labels onto an object beside those it has. Labels that change meanwhile
// are read again.
func (c *Cluster) Relabel(ctx context.Context, subject string, marks map[string]string, read func() (Labelled, error), write func(Labelled) error) error {
	return c.Waiter().RetryOn(ctx, subject, infra.ToBeDescribed, cloud.Conflict, func() error {
		have, err := read()
		if err != nil {
			return err
		}
		all := maps.Clone(have.Labels)
		if all == nil {
			all = make(map[string]string)
		}
		maps.Copy(all, marks)
		return write(Labelled{all, have.Fingerprint})
	})
}
