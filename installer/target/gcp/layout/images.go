package layout

import (
	"cmp"
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/gcp/facts"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// readImages reads the stock images that are needed and unknown.
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

// MasterImage returns the path of the image, or image family, of the master's machine.
func (l Layout) MasterImage() string {
	return l.imageOr(l.Spec.Master.Image, machines.MasterStock, l.Spec.Master.MachineType)
}

// AgentImage returns the path of the image, or image family, of a pool's machines.
func (l Layout) AgentImage(p spec.GCPPool) string {
	return l.imageOr(cmp.Or(p.Image, l.Spec.Agents.Image), machines.AgentStock, TypesOf(p)...)
}

// imageOr returns the given image, or else the stock image for the types. A plain name refers to an
// image of the cluster's project.
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
