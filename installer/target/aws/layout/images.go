package layout

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// published is the ID of a published stock image, or the error of reading it.
type published struct {
	id  string
	err error
}

// readPublished reads the IDs of the stock images that are unknown and may be needed. It reads all
// architectures, because the instance types are read concurrently.
func (r *reader) readPublished(ctx context.Context) error {
	r.published = map[string]published{}
	var mu sync.Mutex // guards it
	var asked sync.WaitGroup
	for prefix, stock := range r.stockInUse() {
		for arch := range stock.Spelling {
			key := prefix + arch
			if r.Known.Images[key] != "" {
				continue
			}
			asked.Go(func() {
				id, err := r.facts.Published(ctx, stock, arch)
				mu.Lock()
				defer mu.Unlock()
				r.published[key] = published{id, err}
			})
		}
	}
	asked.Wait()
	return ctx.Err() // an image without a published ID is searched by name
}

// stockInUse returns the stock images of the machines for which the spec names no image.
func (r *reader) stockInUse() map[string]facts.Stock {
	out := map[string]facts.Stock{}
	if r.Spec.Master.Image == "" {
		out[machines.MasterStock] = facts.MasterStock()
	}
	for _, p := range r.Spec.AllPools() {
		if p.Image == "" && r.Spec.Agents.Image == "" {
			out[machines.AgentStock] = facts.AgentStock()
		}
	}
	return out
}

// readImages reads the stock images that are needed and unknown.
func (r *reader) readImages(ctx context.Context) (err error) {
	r.read = map[string]facts.Image{}
	var mu sync.Mutex // guards it
	r.Known.Images, err = machines.ReadStock(r.Known.Images, r.wantedStock(), func(key string, stock facts.Stock, arch string) (string, error) {
		p := r.published[key]
		image, err := r.facts.Newest(ctx, stock, arch, p.id, p.err)
		mu.Lock()
		defer mu.Unlock()
		r.read[image.ID] = image
		return image.ID, err
	})
	return err
}

// readRootDisks reads the root device names of the agents' images. The master needs them to launch
// machines, and may not describe images. It skips images that cannot be read; the checks report
// those.
func (r *reader) readRootDisks(ctx context.Context) error {
	r.Known.MasterRoot = r.read[r.MasterImage()].RootDevice
	roots := map[string]string{}
	var ids []string
	for _, p := range r.Spec.AllPools() {
		ids = append(ids, r.AgentImage(p))
	}
	slices.Sort(ids)
	var ask []string
	for _, id := range slices.Compact(ids) {
		switch root := cmp.Or(r.Known.Roots[id], r.read[id].RootDevice); {
		case id == "":
		case root != "":
			roots[id] = root
		default:
			ask = append(ask, id)
		}
	}
	found := make([]string, len(ask))
	g, ctx := errgroup.WithContext(ctx)
	for i, id := range ask {
		g.Go(func() (err error) {
			found[i], err = r.readRootDisk(ctx, id)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, id := range ask {
		if found[i] != "" {
			roots[id] = found[i]
		}
	}
	r.Known.Roots = roots
	return nil
}

// readRootDisk returns "" for an image that cannot be read.
func (r *reader) readRootDisk(ctx context.Context, id string) (string, error) {
	image, err := r.facts.Image(ctx, id)
	switch cloud.KindOf(err) {
	case "":
		return image.RootDevice, nil
	case cloud.NotFound, cloud.Invalid, cloud.Denied:
		return "", nil
	default:
		return "", err
	}
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

// MasterImage returns the image of the master's machine.
func (l Layout) MasterImage() string {
	return l.imageOr(l.Spec.Master.Image, machines.MasterStock, l.Spec.Master.InstanceType)
}

// AgentImage returns the image of a pool's machines.
func (l Layout) AgentImage(p spec.AWSPool) string {
	return l.imageOr(cmp.Or(p.Image, l.Spec.Agents.Image), machines.AgentStock, p.InstanceTypes...)
}

// imageOr returns the given image, or else the stock image for the types.
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
