package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// MasterPlace is where the master's machine is to be, and where else it may be.
type MasterPlace struct {
	// Type is its type of machine, and Zone where it is to be.
	Type, Zone string
	// Zones lists where it may be, in order of preference.
	Zones []string
	// Bound says what binds it to Zone: "which --zone names"; empty for nothing.
	Bound string
	// Fix is what the user can do when there is no capacity in any zone that it may be in,
	// and Wait when it is to stay in Zone.
	Fix, Wait string
}

// Search looks for a zone with capacity for the master's machine. It lasts for one run.
type Search struct {
	tried    []string
	refusals []error
}

// Next returns the zone to try after that of p refused the machine, with a sentence for the
// user. Disks lists those of the cluster: a master stays where its data is. Where there is
// no such zone, the error is the refusal with what the user can do.
func (s *Search) Next(ctx context.Context, p MasterPlace, refusal error, disks func(context.Context) ([]resource.Found, error)) (zone, message string, err error) {
	if p.Bound != "" {
		return "", "", p.refuse(p.Fix, fmt.Errorf("%s, %s, has no capacity for %s: %w", p.Zone, p.Bound, p.Type, refusal))
	}
	found, err := disks(ctx)
	if err != nil {
		return "", "", errors.Join(refusal, fmt.Errorf("look for the master's data: %w", err))
	}
	if i := slices.IndexFunc(found, func(f resource.Found) bool { return f.Retain != "" }); i >= 0 {
		return "", "", p.refuse(p.Wait, fmt.Errorf("%s has no capacity for %s, and %s, which is there, %s: %w", p.Zone, p.Type, found[i], found[i].Retain, refusal))
	}
	s.tried, s.refusals = append(s.tried, p.Zone), append(s.refusals, fmt.Errorf("  %s: %w", p.Zone, refusal))
	i := slices.IndexFunc(p.Zones, func(z string) bool { return !slices.Contains(s.tried, z) })
	if i < 0 {
		return "", "", p.refuse(p.Fix, fmt.Errorf("no zone has capacity for %s:\n%w", p.Type, errors.Join(s.refusals...)))
	}
	return p.Zones[i], fmt.Sprintf("%s has no capacity for %s; trying %s", p.Zone, p.Type, p.Zones[i]), nil
}

func (MasterPlace) refuse(fix string, err error) error {
	return &cloud.Error{Kind: cloud.NoCapacity, Fix: fix, Err: err}
}
