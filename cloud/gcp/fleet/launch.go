package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
)

// tokenLimit is the maximum number of characters in a token. Names contain its hash, the metadata
// of instances the full token.
const tokenLimit = 64

const opInsert = "compute.instances.insert"

// pending is a requested instance.
type pending struct {
	machine cloud.Instance
	// launch is the insert operation, which completes when the instance is created or the request
	// has failed. It is nil for an instance that already existed.
	launch *api.Operation
}

// Launch implements cloud.Instances. It makes one call per instance, with a name derived from the
// token, so that Google creates none twice. It returns when all operations have completed. It
// returns a Conflict error if the token was used for another launch, or if an instance of another
// owner has the name.
func (f *Fleet) Launch(ctx context.Context, l cloud.Launch) ([]cloud.Instance, error) {
	kind, err := checkLaunch(l)
	if err != nil {
		return nil, &cloud.Error{Kind: cloud.Invalid, Op: opInsert, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, f.cfg.OperationTimeout)
	defer cancel()
	all := make([]pending, l.Count)
	errs := make([]error, l.Count)
	begin := func(n int) { all[n], errs[n] = f.beginMachine(ctx, l, kind, n) }
	// The first one alone: if it is rejected, the others would be as well.
	if begin(0); errs[0] != nil {
		return nil, errs[0]
	}
	eachOf(l.Count-1, func(i int) { begin(i + 1) })
	eachOf(l.Count, func(n int) {
		if errs[n] == nil && all[n].launch != nil {
			errs[n] = all[n].launch.Wait(ctx)
		}
	})
	return f.grantMachines(ctx, all, errs)
}

func checkLaunch(l cloud.Launch) (machinetype.Type, error) {
	if err := l.Check(tokenLimit); err != nil {
		return machinetype.Type{}, err
	}
	if l.Offer.Zone == "" {
		return machinetype.Type{}, errors.New("a launch needs a zone")
	}
	return machinetype.Parse(l.Offer.Type)
}

// beginMachine requests one instance.
func (f *Fleet) beginMachine(ctx context.Context, l cloud.Launch, t machinetype.Type, n int) (pending, error) {
	name := f.cfg.machineName(l.Token, n)
	launch, err := api.Start(ctx, f.clients, f.clients.Compute.Instances.Insert(f.clients.Project, l.Offer.Zone, f.launchRequest(l, t, name)))
	switch {
	case cloud.KindOf(err) == cloud.Conflict:
		return f.adoptMachine(ctx, l, name, err)
	case err != nil:
		return pending{}, err
	}
	return pending{launch: launch, machine: cloud.Instance{
		ID: cloud.InstanceID(name), State: cloud.InstanceStarting, Offer: l.Offer, Zone: l.Offer.Zone, Token: l.Token,
	}}, nil
}

// adoptMachine returns the existing instance of the name if it was created by this launch.
func (f *Fleet) adoptMachine(ctx context.Context, l cloud.Launch, name string, refusal error) (pending, error) {
	live, err := api.Do(ctx, f.clients.Compute.Instances.Get(f.clients.Project, l.Offer.Zone, name))
	switch {
	case cloud.KindOf(err) == cloud.NotFound:
		return pending{}, refusal // its disk has the name, or the instance is just being deleted
	case err != nil:
		return pending{}, err
	case !f.isOurs(live):
		return pending{}, conflict("an instance named %s exists and does not belong to the pool", name)
	case live.Labels[LabelLaunch] != contentOf(l):
		return pending{}, conflict("instance %s was launched with the same token and different settings", name)
	}
	m := f.toInstance(live)
	m.Offer = l.Offer
	return pending{machine: m}, nil
}

func conflict(format string, args ...any) error {
	return &cloud.Error{Kind: cloud.Conflict, Op: opInsert, Err: fmt.Errorf(format, args...)}
}

// grantMachines returns the created instances, or the first error. It returns the error alone while
// the outcome of any instance is unknown.
func (f *Fleet) grantMachines(ctx context.Context, all []pending, errs []error) ([]cloud.Instance, error) {
	var granted []cloud.Instance
	var refusal error
	for n, err := range errs {
		switch {
		case err == nil:
			granted = append(granted, all[n].machine)
		case cloud.KindOf(err) == cloud.Ambiguous, ctx.Err() != nil:
			return nil, err
		case refusal == nil:
			refusal = err
		}
	}
	f.rememberPlaces(granted, false)
	if len(granted) == 0 {
		return nil, refusal
	}
	if refusal != nil {
		f.cfg.Log.InfoContext(ctx, "launched fewer machines than requested", "pool", f.cfg.Pool, "granted", len(granted), "requested", len(all), "err", refusal)
	}
	return granted, nil
}
