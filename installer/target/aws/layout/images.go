package layout

import (
	"cmp"
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// readImages reads the stock images that are needed and not known.
func (r *reader) readImages(ctx context.Context) (err error) {
	r.Known.Images, err = machines.ReadStock(r.Known.Images, r.wantedStock(), func(stock facts.Stock, arch string) (string, error) {
		image, err := r.facts.Newest(ctx, stock, arch)
		return image.ID, err
	})
	return err
}

// readRootDisks reads the name of the root disk of the agents' images. The master
// launches machines with it, and may not describe images. An image that cannot be read is
// left to the checks.
func (r *reader) readRootDisks(ctx context.Context) error {
	roots := map[string]string{}
	for _, p := range r.Spec.AllPools() {
		id := r.AgentImage(p)
		if id == "" || roots[id] != "" {
			continue
		}
		if roots[id] = r.Known.Roots[id]; roots[id] != "" {
			continue
		}
		image, err := r.facts.Image(ctx, id)
		switch cloud.KindOf(err) {
		case "":
			roots[id] = image.RootDevice
		case cloud.NotFound, cloud.Invalid, cloud.Denied:
			delete(roots, id)
		default:
			return err
		}
	}
	r.Known.Roots = roots
	return nil
}

func (r *reader) wantedStock() map[string]facts.Stock {
	out := map[string]facts.Stock{}
	if r.Spec.Master.Image == "" {
		if arch, err := r.Known.Types.Architecture(r.Spec.Master.InstanceType); err == nil {
			out[machines.MasterStock+arch] = facts.MasterStock()
		}
	}
	for _, p := range r.Spec.AllPools() {
		if p.Image != "" || r.Spec.Agents.Image != "" {
			continue
		}
		if arch, err := r.Known.Types.Architecture(p.InstanceTypes...); err == nil {
			out[machines.AgentStock+arch] = facts.AgentStock()
		}
	}
	return out
}

// MasterImage is the image that the master's machine boots from.
func (l Layout) MasterImage() string {
	return l.imageOr(l.Spec.Master.Image, machines.MasterStock, l.Spec.Master.InstanceType)
}

// AgentImage is the image that a pool's machines boot from.
func (l Layout) AgentImage(p spec.AWSPool) string {
	return l.imageOr(cmp.Or(p.Image, l.Spec.Agents.Image), machines.AgentStock, p.InstanceTypes...)
}

// imageOr is the image that was given, or else the stock image for the types.
func (l Layout) imageOr(given, stock string, types ...string) string {
	if given != "" {
		return given
	}
	arch, err := l.Known.Types.Architecture(types...)
	if err != nil {
		return ""
	}
	return l.Known.Images[stock+arch]
}
