package process

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/agent/container/process/rootfs"
)

// placesOf lists what a task sees at paths of its own: its mounts, in their order, and
// then its files. What is below a mount is the mount's.
func placesOf(l layout, spec container.Spec) []rootfs.Place {
	var out []rootfs.Place
	for _, m := range spec.Mounts {
		out = append(out, rootfs.Place{Path: filepath.Clean(m.ContainerPath), Source: m.HostPath, ReadOnly: m.ReadOnly})
	}
	mounts := out
	for _, p := range newMapping(l.root, spec).prefixes {
		mounted := func(m rootfs.Place) bool { return isWithin(p, m.Path) }
		isLarge := func(d largeDir) bool { return isWithin(p, d.path) }
		if !slices.ContainsFunc(mounts, mounted) && !slices.ContainsFunc(l.large, isLarge) {
			out = append(out, rootfs.Place{Path: p, Source: filepath.Join(l.root, p)})
		}
	}
	for _, d := range l.large {
		out = append(out, rootfs.Place{Path: d.path, Source: filepath.Join(l.disk, d.name)})
	}
	if l.info != "" {
		out = append(out, rootfs.Place{Path: infoDir, Source: l.info, Sealed: true})
	}
	return out
}

// placeOf follows the links of a mount's source.
func placeOf(m container.Mount) (rootfs.Place, error) {
	real, err := filepath.EvalSymlinks(m.HostPath)
	if err != nil {
		return rootfs.Place{}, fmt.Errorf("bind mount %s: %w", m.ContainerPath, err)
	}
	return rootfs.Place{Path: filepath.Clean(m.ContainerPath), Source: real, ReadOnly: m.ReadOnly}, nil
}
