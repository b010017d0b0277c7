package api

import (
	"context"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/edge"
)

// Catalog is what Google offers the project, and how much of it the project may have.
type Catalog struct {
	// Project has the project's quotas and its default service account.
	Project func(ctx context.Context) (*compute.Project, error)
	// Region has the quotas of the region.
	Region  func(ctx context.Context) (*compute.Region, error)
	Regions func(ctx context.Context) ([]*compute.Region, error)
	// Zones are those of all regions.
	Zones func(ctx context.Context) ([]*compute.Zone, error)
	// MachineTypes are those of a zone.
	MachineTypes func(ctx context.Context, zone, filter string) ([]*compute.MachineType, error)
	// AcceleratorTypes are the types of GPUs of a zone.
	AcceleratorTypes func(ctx context.Context, zone string) ([]*compute.AcceleratorType, error)
	Image            func(ctx context.Context, project, name string) (*compute.Image, error)
	// ImageFamily is the newest image of a family that is not withdrawn.
	ImageFamily func(ctx context.Context, project, family string) (*compute.Image, error)
	// Routes are those of the project's networks.
	Routes func(ctx context.Context, filter string) ([]*compute.Route, error)
}

func newCatalog(g *gateway, s *compute.Service) Catalog {
	c := newImages(g, s.Images)
	projects, regions, zones, machines, gpus, routes := s.Projects, s.Regions, s.Zones, s.MachineTypes, s.AcceleratorTypes, s.Routes
	c.Project = func(ctx context.Context) (*compute.Project, error) {
		ctx, c := g.begin(ctx, "compute.projects.get")
		return send(ctx, c, projects.Get(g.project).Context(ctx).Do)
	}
	c.Region = func(ctx context.Context) (*compute.Region, error) {
		ctx, c := g.begin(ctx, "compute.regions.get")
		return send(ctx, c, regions.Get(g.project, g.region).Context(ctx).Do)
	}
	c.Regions = func(ctx context.Context) ([]*compute.Region, error) {
		return readPages(func(token string) ([]*compute.Region, string, error) {
			ctx, c := g.begin(ctx, "compute.regions.list")
			page, err := send(ctx, c, regions.List(g.project).PageToken(token).Context(ctx).Do)
			if err != nil {
				return nil, "", err
			}
			return page.Items, page.NextPageToken, nil
		})
	}
	c.Zones = func(ctx context.Context) ([]*compute.Zone, error) {
		return readPages(func(token string) ([]*compute.Zone, string, error) {
			ctx, c := g.begin(ctx, "compute.zones.list")
			page, err := send(ctx, c, zones.List(g.project).PageToken(token).Context(ctx).Do)
			if err != nil {
				return nil, "", err
			}
			return page.Items, page.NextPageToken, nil
		})
	}
	c.MachineTypes = func(ctx context.Context, zone, filter string) ([]*compute.MachineType, error) {
		return readPages(func(token string) ([]*compute.MachineType, string, error) {
			ctx, c := g.begin(ctx, "compute.machineTypes.list")
			page, err := send(ctx, c, machines.List(g.project, zone).Filter(filter).PageToken(token).Context(ctx).Do)
			if err != nil {
				return nil, "", err
			}
			return page.Items, page.NextPageToken, nil
		})
	}
	c.AcceleratorTypes = func(ctx context.Context, zone string) ([]*compute.AcceleratorType, error) {
		return readPages(func(token string) ([]*compute.AcceleratorType, string, error) {
			ctx, c := g.begin(ctx, "compute.acceleratorTypes.list")
			page, err := send(ctx, c, gpus.List(g.project, zone).PageToken(token).Context(ctx).Do)
			if err != nil {
				return nil, "", err
			}
			return page.Items, page.NextPageToken, nil
		})
	}
	c.Routes = func(ctx context.Context, filter string) ([]*compute.Route, error) {
		return readPages(func(token string) ([]*compute.Route, string, error) {
			ctx, c := g.begin(ctx, "compute.routes.list")
			page, err := send(ctx, c, routes.List(g.project).Filter(filter).PageToken(token).Context(ctx).Do)
			if err != nil {
				return nil, "", err
			}
			return page.Items, page.NextPageToken, nil
		})
	}
	return c
}

func newImages(g *gateway, s *compute.ImagesService) Catalog {
	return Catalog{
		Image: func(ctx context.Context, project, name string) (*compute.Image, error) {
			ctx, c := g.begin(ctx, "compute.images.get")
			return send(ctx, c, s.Get(project, name).Context(ctx).Do)
		},
		ImageFamily: func(ctx context.Context, project, family string) (*compute.Image, error) {
			ctx, c := g.begin(ctx, "compute.images.getFromFamily")
			return send(ctx, c, s.GetFromFamily(project, family).Context(ctx).Do)
		},
	}
}

func catalogCalls() edge.Calls {
	return edge.Calls{
		edge.Reads("compute.projects.get"),
		edge.Reads("compute.regions.get"),
		edge.Reads("compute.regions.list"),
		edge.Reads("compute.zones.list"),
		edge.Reads("compute.machineTypes.list"),
		edge.Reads("compute.acceleratorTypes.list"),
		edge.Reads("compute.images.get"),
		edge.Reads("compute.images.getFromFamily"),
		edge.Reads("compute.routes.list"),
	}
}
