package cluster

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

type doctorOptions struct{ selected }

func doctorHelp() Help {
	return Help{
		Short: "Check the prerequisites of a cluster on {on}",
		Long: `Check the prerequisites of up with the same flags: the caller's identity and
permissions, quotas, instance types, images, names, networks, and the clock. Each
check passes, fails or is unknown, with its result, requirement and remedy. Nothing
is changed. up runs the same checks first.`,
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
