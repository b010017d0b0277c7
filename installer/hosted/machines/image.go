package machines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/installer/doctor"
)

// Image is a boot image.
type Image struct {
	Name, Architecture string
	// RootSize is the minimum disk size in GB.
	RootSize int
	// Odd is a warning about an image that works.
	Odd string
}

// Use is a set of machines that boot from an image.
type Use struct {
	// Who is "the master" or "pool x".
	Who   string
	Types []string
	// Disk is the disk size in GB.
	Disk int
	// Flags names the flags to change.
	Flags string
}

// The prefixes of stock image keys; the architecture follows.
const (
	MasterStock = "master/"
	AgentStock  = "agent/"
)

// ReadStock adds the missing stock images to the known ones, by keys such as "master/amd64". It
// calls newest concurrently and returns all images.
func ReadStock[S any](known map[string]string, wanted map[string]S, newest func(key string, stock S, architecture string) (string, error)) (map[string]string, error) {
	keys := slices.DeleteFunc(slices.Sorted(maps.Keys(wanted)), func(key string) bool { return known[key] != "" })
	if len(keys) == 0 {
		return known, nil
	}
	images, errs := make([]string, len(keys)), make([]error, len(keys))
	var wg sync.WaitGroup
	for i, key := range keys {
		_, arch, _ := strings.Cut(key, "/")
		wg.Go(func() { images[i], errs[i] = newest(key, wanted[key], arch) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := maps.Clone(known)
	if out == nil {
		out = make(map[string]string)
	}
	for i, key := range keys {
		out[key] = images[i]
	}
	return out, nil
}

// CheckImages checks whether each image exists, supports its machine types and fits its disk.
func CheckImages(ctx context.Context, uses map[string][]Use, types Types, look func(ctx context.Context, id string) (Image, error)) doctor.Result {
	const needed = "images for the machines' architectures that fit their disks"
	var wrong, odd, names []string
	fix := ""
	ids := slices.Sorted(maps.Keys(uses))
	images := make([]Image, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	for i, id := range ids {
		g.Go(func() (err error) {
			images[i], err = look(ctx, id)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return doctor.FromError(err, needed)
	}
	for i, id := range ids {
		image := images[i]
		names = append(names, fmt.Sprintf("%s (%s)", id, image.Name))
		if image.Odd != "" {
			odd, fix = append(odd, id+": "+image.Odd), uses[id][0].Flags
		}
		for _, u := range uses[id] {
			found := image.unfitFor(id, u, types)
			if len(found) > 0 {
				wrong, fix = append(wrong, found...), u.Flags
			}
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return doctor.Failed(strings.Join(slices.Compact(wrong), "; "), needed, "choose another with "+fix)
	}
	if len(odd) > 0 {
		return doctor.Unsure(strings.Join(odd, "; "), needed, "choose another with "+fix)
	}
	return doctor.Passed("%s", strings.Join(names, ", "))
}

func (i Image) unfitFor(id string, u Use, types Types) []string {
	var wrong []string
	for _, t := range u.Types {
		if !slices.Contains(types[t].Architectures, i.Architecture) {
			wrong = append(wrong, fmt.Sprintf("%s is for %s and %s of %s is not", id, i.Architecture, t, u.Who))
		}
	}
	if i.RootSize > u.Disk {
		wrong = append(wrong, fmt.Sprintf("%s needs %d GB and %s has %d", id, i.RootSize, u.Who, u.Disk))
	}
	return wrong
}
