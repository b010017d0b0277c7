package mark

import (
	"context"
	"maps"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Labelled holds the labels of an object and the fingerprint required for changing them.
type Labelled struct {
	Labels      map[string]string
	Fingerprint string
}

// Relabel adds labels to an object and keeps the others. It reads the labels again if they change
// in the meantime.
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
