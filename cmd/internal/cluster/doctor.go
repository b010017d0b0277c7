package cluster

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type doctorOptions struct{ selected }

func doctorHelp() Help {
	return Help{
		Short: "Check the prerequisites of a cluster on {on}",
		Long: `Check what up with the same flags needs: who the caller is and what they may do,
quotas, instance types, images, names, networks, the clock. Each check says pass,
fail or unknown, what was found, what is needed, and what to do. Nothing is
changed. It is the first act of up.`,
	}
}

func (o *doctorOptions) run(ctx context.Context) error {
	c, err := o.Open(ctx, Request{Verb: o.verb})
	if err != nil {
		return err
	}
	r := c.Check(ctx)
	if o.Output == term.JSON {
		err = o.PrintJSON(r)
	} else {
		err = r.Render(o.Out)
	}
	if err != nil {
		return err
	}
	return r.Err()
}
