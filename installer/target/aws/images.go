package aws

import (
	"cmp"
	"context"
	"strings"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// The keys of stock images.
const (
	masterStock = "master/"
	agentStock  = "agent/"
)

// readImages reads the stock images that are needed and not known.
func (l *looking) readImages(ctx context.Context) error {
	for key, stock := range l.wantedStock() {
		if l.known.Images[key] != "" {
			continue
		}
		_, arch, _ := strings.Cut(key, "/")
		image, err := l.facts.Newest(ctx, stock, arch)
		if err != nil {
			return err
		}
		if l.known.Images == nil {
			l.known.Images = make(map[string]string)
		}
		l.known.Images[key] = image.ID
	}
	return nil
}

// readRootDisks reads the name of the root disk of the agents' images. The master
// launches machines with it, and may not describe images. An image that cannot be read is
// left to the checks.
func (l *looking) readRootDisks(ctx context.Context) error {
	roots := map[string]string{}
	for _, p := range l.Spec.AllPools() {
		id := l.known.agentImage(l.Spec, p)
		if id == "" || roots[id] != "" {
			continue
		}
		if roots[id] = l.known.Roots[id]; roots[id] != "" {
			continue
		}
		image, err := l.facts.Image(ctx, id)
		switch cloud.KindOf(err) {
		case "":
			roots[id] = image.RootDevice
		case cloud.NotFound, cloud.Invalid, cloud.Denied:
			delete(roots, id)
		default:
			return err
		}
	}
	l.known.Roots = roots
	return nil
}

func (l *looking) wantedStock() map[string]facts.Stock {
	out := map[string]facts.Stock{}
	if l.Spec.Master.Image == "" {
		if arch, err := l.known.Types.Architecture(l.Spec.Master.InstanceType); err == nil {
			out[masterStock+arch] = facts.MasterStock()
		}
	}
	for _, p := range l.Spec.AllPools() {
		if p.Image != "" || l.Spec.Agents.Image != "" {
			continue
		}
		if arch, err := l.known.Types.Architecture(p.InstanceTypes...); err == nil {
			out[agentStock+arch] = facts.AgentStock()
		}
	}
	return out
}

// masterImage and agentImage are the images to boot from.
func (t *Target) masterImage() string {
	if t.Spec.Master.Image != "" {
		return t.Spec.Master.Image
	}
	arch, err := t.Known.Types.Architecture(t.Spec.Master.InstanceType)
	if err != nil {
		return ""
	}
	return t.Known.Images[masterStock+arch]
}

func (t *Target) agentImage(p spec.AWSPool) string { return t.Known.agentImage(t.Spec, p) }

func (k Known) agentImage(s spec.AWS, p spec.AWSPool) string {
	if image := cmp.Or(p.Image, s.Agents.Image); image != "" {
		return image
	}
	arch, err := k.Types.Architecture(p.InstanceTypes...)
	if err != nil {
		return ""
	}
	return k.Images[agentStock+arch]
}
