package cloudtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
)

// FleetPool is the view of one pool of a Fleet. Two views of the same name are those of two masters
// on the same machines.
type FleetPool struct {
	fleet *Fleet
	name  string
}

var (
	_ cloud.Instances = (*FleetPool)(nil)
	_ cloud.Console   = (*FleetPool)(nil)
	_ cloud.Sweeper   = (*FleetPool)(nil)
)

// Fleet returns the platform of the view.
func (p *FleetPool) Fleet() *Fleet { return p.fleet }

// Pool returns the view of one resource pool.
func (f *Fleet) Pool(name string) *FleetPool { return &FleetPool{f, name} }

// Launch launches machines as the knobs permit.
func (p *FleetPool) Launch(ctx context.Context, l cloud.Launch) (out []cloud.Instance, err error) {
	call := Call{Op: OpLaunch, Pool: p.name, Launch: l}
	err = p.fleet.call(ctx, call, func(c *Call) error {
		out, err = p.fleet.launch(p.name, l)
		c.IDs = ids(out)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Terminate terminates machines of the pool.
func (p *FleetPool) Terminate(ctx context.Context, gone []cloud.InstanceID) error {
	call := Call{Op: OpTerminate, Pool: p.name, IDs: slices.Clone(gone)}
	return p.fleet.call(ctx, call, func(*Call) error {
		for _, id := range gone {
			if m := p.fleet.machine(id); m != nil && m.pool == p.name {
				m.end(p.fleet.time(), p.fleet.knobs.Shutdown, "terminated by the master")
			}
		}
		return nil
	})
}

// List returns the machines of the pool with the delay in the knobs.
func (p *FleetPool) List(ctx context.Context) (out []cloud.Instance, err error) {
	err = p.fleet.call(ctx, Call{Op: OpList, Pool: p.name}, func(c *Call) error {
		out = p.fleet.list(p.name)
		c.IDs = ids(out)
		return nil
	})
	return out, err
}

// Console returns the console output of a machine of the pool.
func (p *FleetPool) Console(ctx context.Context, id cloud.InstanceID) (text string, err error) {
	call := Call{Op: OpConsole, Pool: p.name, IDs: []cloud.InstanceID{id}}
	err = p.fleet.call(ctx, call, func(*Call) error {
		f := p.fleet
		m := f.machine(id)
		switch {
		case m == nil || m.pool != p.name:
			return refused(cloud.NotFound, OpConsole, fmt.Sprintf("there is no machine %s", id))
		case f.knobs.DenyConsole:
			e := refused(cloud.Denied, OpConsole, "not authorized")
			e.Fix = "allow fleet:Console"
			return e
		case f.knobs.Console != nil:
			text = f.knobs.Console(id)
		default:
			text = string(id) + " boots\n"
		}
		return nil
	})
	return text, err
}

// Sweep removes the resources added by Leave.
func (p *FleetPool) Sweep(ctx context.Context) (swept []string, err error) {
	err = p.fleet.call(ctx, Call{Op: OpSweep, Pool: p.name}, func(*Call) error {
		swept = p.fleet.litter[p.name]
		delete(p.fleet.litter, p.name)
		return nil
	})
	return swept, err
}

// launch launches machines. The caller holds mu.
func (f *Fleet) launch(pool string, l cloud.Launch) ([]cloud.Instance, error) {
	if l.Token == "" || len(l.Token) > 64 || l.Count < 1 || l.Offer.Type == "" {
		return nil, refused(cloud.Invalid, OpLaunch, fmt.Sprintf("%+v is not a launch", l))
	}
	if old, found := f.tokens[l.Token]; found {
		if old.pool != pool || old.launch != l {
			return nil, refused(cloud.Invalid, OpLaunch, "the token was used for another launch")
		}
		return f.promised(old), nil
	}
	if kind := f.refused(l.Offer); kind != "" {
		return nil, refused(kind, OpLaunch, fmt.Sprintf("%s in %q is refused by the test", l.Offer.Type, l.Offer.Zone))
	}
	room := f.room(l)
	if room == 0 {
		return nil, refused(cloud.NoCapacity, OpLaunch, fmt.Sprintf("no capacity for %s in %q", l.Offer.Type, l.Offer.Zone))
	}
	made := promise{pool: pool, launch: l}
	for range room {
		made.ids = append(made.ids, f.grant(pool, l).ID)
	}
	f.tokens[l.Token] = made
	return f.promised(made), nil
}

// room returns the number of machines that may be launched.
func (f *Fleet) room(l cloud.Launch) int {
	if f.knobs.Most == 0 {
		return l.Count
	}
	alive := 0
	for _, m := range f.machines {
		if m.Offer == l.Offer && m.ended.IsZero() {
			alive++
		}
	}
	return max(0, min(l.Count, f.knobs.Most-alive))
}

func (f *Fleet) promised(p promise) []cloud.Instance {
	out := make([]cloud.Instance, len(p.ids))
	for i, id := range p.ids {
		out[i] = f.machine(id).at(f.time())
	}
	return out
}

// list returns the delayed list. The caller holds mu.
func (f *Fleet) list(pool string) []cloud.Instance {
	now := f.time()
	var out []cloud.Instance
	for _, m := range f.machines {
		if m.pool != pool || now.Before(m.Launched.Add(f.knobs.AppearLate)) {
			continue
		}
		seen := now.Add(-f.knobs.ChangeLate)
		if !m.ended.IsZero() && !seen.Before(m.ended.Add(m.shutdown+f.knobs.Forget)) {
			continue
		}
		out = append(out, m.at(seen))
	}
	return byID(out)
}

func refused(k cloud.Kind, op Op, why string) *cloud.Error {
	return &cloud.Error{Kind: k, Op: "fleet:" + string(op), Err: errors.New(why)}
}

func ids(all []cloud.Instance) []cloud.InstanceID {
	out := make([]cloud.InstanceID, len(all))
	for i, m := range all {
		out[i] = m.ID
	}
	return out
}
