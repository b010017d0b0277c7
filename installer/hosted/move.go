package hosted

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// MasterPlace is the location of the master's machine and the alternatives.
type MasterPlace struct {
	// Type is the machine type, and Zone the chosen zone.
	Type, Zone string
	// Zones lists the possible zones in order of preference.
	Zones []string
	// Bound is the reason why the machine must be in Zone, such as "which --zone names", or "".
	Bound string
	// Fix is the remedy if no possible zone has capacity, and Wait the remedy for staying in Zone.
	Fix, Wait string
}

// Search finds a zone with capacity for the master's machine. It is used for one run.
type Search struct {
	tried    []string
	refusals []error
}

// Next returns the zone to try after p's zone has rejected the machine, with a message for the
// user. Disks lists those of the cluster, because a master stays in the zone of its data. If no
// zone is left, Next returns the refusal with a remedy.
func (s *Search) Next(ctx context.Context, p MasterPlace, refusal error, disks func(context.Context) ([]resource.Found, error)) (zone, message string, err error) {
	if p.Bound != "" {
		return "", "", p.refuse(p.Fix, fmt.Errorf("%s, %s, has no capacity for %s: %w", p.Zone, p.Bound, p.Type, refusal))
	}
	found, err := disks(ctx)
	if err != nil {
		return "", "", errors.Join(refusal, fmt.Errorf("find the master's data: %w", err))
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
