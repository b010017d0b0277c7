package layout

import (
	"cmp"
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// readImages reads the stock images that are needed and not known.
func (r *reader) readImages(ctx context.Context) error {
	newest := func(_ string, stock facts.Stock, arch string) (string, error) {
		image, err := r.facts.Newest(ctx, stock, arch)
		return image.ID, err
	}
	all, err := machines.ReadStock(r.Known.Images, r.wantedStock(), newest)
	if err == nil {
		r.Known.Images = all
	}
	return err
}

func (r *reader) wantedStock() map[string]facts.Stock {
	out := map[string]facts.Stock{}
	if r.Spec.Master.Image == "" {
		if arch, err := r.Known.Types.Architecture(r.Spec.Master.MachineType); err == nil {
			out[machines.MasterStock+arch] = facts.MasterStock()
		}
	}
	for _, p := range r.Spec.AllPools() {
		if p.Image != "" || r.Spec.Agents.Image != "" {
			continue
		}
		if arch, err := r.Known.Types.Architecture(TypesOf(p)...); err == nil {
			out[machines.AgentStock+arch] = facts.AgentStock()
		}
	}
	return out
}

// MasterImage is the path of the image that the master's machine boots from, or of a
// family.
func (l Layout) MasterImage() string {
	return l.imageOr(l.Spec.Master.Image, machines.MasterStock, l.Spec.Master.MachineType)
}

// AgentImage is the path of the image that a pool's machines boot from, or of a family.
func (l Layout) AgentImage(p spec.GCPPool) string {
	return l.imageOr(cmp.Or(p.Image, l.Spec.Agents.Image), machines.AgentStock, TypesOf(p)...)
}

// imageOr is the image that was given, or else the stock image for the types. The name
// alone is that of an image of the project's own.
func (l Layout) imageOr(given, stock string, types ...string) string {
	if given != "" && !strings.Contains(given, "/") {
		return "projects/" + l.Spec.Project + "/global/images/" + given
	}
	if given != "" {
		return given
	}
	arch, err := l.Known.Types.Architecture(types...)
	if err != nil {
		return ""
	}
	return l.Known.Images[stock+arch]
}
