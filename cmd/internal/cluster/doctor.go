package cluster

import (
	"cmp"
	"context"
	"errors"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/installer/doctor"
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
	if failed, ok := errors.AsType[*doctor.Error](err); ok {
		return cmp.Or(o.print(failed.Report()), err)
	}
	if err != nil {
		return err
	}
	r := c.Check(ctx)
	return cmp.Or(o.print(r), r.Err())
}

func (o *doctorOptions) print(r doctor.Report) error {
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	return r.Render(o.Out)
}
