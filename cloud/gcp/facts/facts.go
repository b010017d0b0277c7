// Package facts queries Google Cloud for the available options: regions and zones, machine types
// with the GPUs that they include or accept, images, networks, and the remaining quotas. It queries
// them live, so that new machine types need no new release. Its calls are read-only, except for
// enabling APIs in the project on request.
package facts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// Facts queries one project and region.
type Facts struct {
	Clients api.Clients
}

// Caller is the identity of the caller and its project.
type Caller struct {
	// Identity is an email. It is empty if the credentials contain none.
	Identity string
	// Project is the project ID, Number the project number.
	Project string
	Number  uint64
}

// String formats the caller for display.
func (c Caller) String() string {
	if c.Identity == "" {
		return "the caller"
	}
	return c.Identity
}

// Caller returns the identity of the caller and the project number.
func (f Facts) Caller(ctx context.Context) (Caller, error) {
	identity, err := f.Clients.Identity(ctx)
	if err != nil {
		return Caller{}, fmt.Errorf("get the caller identity: %w", err)
	}
	number, err := f.projectNumber(ctx)
	if err != nil {
		return Caller{}, fmt.Errorf("describe project %s: %w", f.Clients.Project, err)
	}
	return Caller{identity, f.Clients.Project, number}, nil
}

// projectNumber queries several services for the project number, because any of their APIs may be
// disabled. It returns the error of the first one if all fail.
func (f Facts) projectNumber(ctx context.Context) (uint64, error) {
	p, err := api.Do(ctx, f.Clients.Resources.Projects.Get(f.Clients.ProjectName()))
	switch {
	case err == nil && p.State != "" && p.State != "ACTIVE":
		return 0, &cloud.Error{
			Kind: cloud.Invalid, Op: "cloudresourcemanager.projects.get", Resource: f.Clients.Project,
			Fix: "restore it with `gcloud projects undelete`, or choose another with --project", Err: errors.New("the project is being deleted"),
		}
	case err == nil:
		return parseNumber(p.Name)
	case cloud.KindOf(err) != cloud.Denied:
		return 0, err
	}
	used, usageErr := f.readAPIs(ctx, []string{computeAPI})
	if usageErr == nil && len(used) > 0 {
		return parseNumber(used[0].Parent)
	}
	if described, engineErr := api.Do(ctx, f.Clients.Compute.Projects.Get(f.Clients.Project)); engineErr == nil {
		return described.Id, nil
	}
	return 0, err
}

// Clock returns Google's time, or zero if the response contains none.
func (f Facts) Clock(ctx context.Context) (time.Time, error) {
	p, err := api.Do(ctx, f.Clients.Resources.Projects.Get(f.Clients.ProjectName()))
	if err != nil {
		return time.Time{}, fmt.Errorf("read Google's time: %w", err)
	}
	t, err := http.ParseTime(p.Header.Get("Date"))
	if err != nil {
		return time.Time{}, nil //nolint:nilerr // treated as missing
	}
	return t, nil
}

// parseNumber parses "projects/415104041262".
func parseNumber(name string) (uint64, error) {
	n, err := strconv.ParseUint(path.Base(name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the response contains no project number (%q)", name)
	}
	return n, nil
}

// Regions returns the regions available to the project.
func (f Facts) Regions(ctx context.Context) ([]string, error) {
	all, err := api.List(ctx, f.Clients.Compute.Regions.List(f.Clients.Project), func(p *compute.RegionList) []*compute.Region { return p.Items })
	if err != nil {
		return nil, fmt.Errorf("list regions: %w", err)
	}
	var out []string
	for _, r := range all {
		out = append(out, r.Name)
	}
	slices.Sort(out)
	return out, nil
}

// Zones returns the available zones of the region.
func (f Facts) Zones(ctx context.Context) ([]string, error) {
	all, err := api.List(ctx, f.Clients.Compute.Zones.List(f.Clients.Project), func(p *compute.ZoneList) []*compute.Zone { return p.Items })
	if err != nil {
		return nil, fmt.Errorf("list the zones of %s: %w", f.Clients.Region, err)
	}
	var out []string
	for _, z := range all {
		if path.Base(z.Region) == f.Clients.Region && z.Status == "UP" {
			out = append(out, z.Name)
		}
	}
	if len(out) == 0 {
		return nil, &cloud.Error{
			Kind: cloud.Invalid, Op: "compute.zones.list", Resource: f.Clients.Region,
			Fix: "choose another --region: `gcloud compute regions list` shows them", Err: errors.New("the project has no such region"),
		}
	}
	slices.Sort(out)
	return out, nil
}

// regionOf returns the region of a zone: us-central1 for us-central1-a.
func regionOf(zone string) string { return zone[:max(strings.LastIndexByte(zone, '-'), 0)] }

// askEach queries several items in parallel and returns the results in the same order.
func askEach[K, T any](of []K, ask func(K) (T, error)) ([]T, error) {
	out := make([]T, len(of))
	calls := make([]func() error, len(of))
	for i, k := range of {
		calls[i] = func() (err error) {
			out[i], err = ask(k)
			return err
		}
	}
	return out, infra.SideBySide(calls...)
}
