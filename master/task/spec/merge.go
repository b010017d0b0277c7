package spec

import (
	"cmp"
	"path"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// DefaultImage is the image if neither the task nor the cluster names one. Any image suits a plain
// program; this one is small and common.
const DefaultImage = "docker.io/library/python:3.11-slim"

// Merge merges c over the defaults of cluster and pool. Values of c take precedence; lists of variables,
// mounts and devices are joined, with c's entries taking precedence.
func Merge(c Config, d container.Defaults) Config {
	n := &c.Environment
	n.Image = fillImages(n.Image, d.Image)
	n.Variables = container.Environment{
		CPU:  slices.Concat(d.Environment.CPU, n.Variables.CPU),
		CUDA: slices.Concat(d.Environment.CUDA, n.Variables.CUDA),
		ROCm: slices.Concat(d.Environment.ROCm, n.Variables.ROCm),
	}
	if n.ForcePullImage == nil {
		force := d.ForcePullImage != nil && *d.ForcePullImage
		n.ForcePullImage = &force
	}
	if n.AddCapabilities == nil {
		n.AddCapabilities = d.AddCapabilities
	}
	if n.DropCapabilities == nil {
		n.DropCapabilities = d.DropCapabilities
	}
	c.WorkDir = cmp.Or(c.WorkDir, d.WorkDir, DefaultWorkDir)
	c.BindMounts = joinMounts(c.BindMounts, d.BindMounts, c.WorkDir)
	r := &c.Resources
	if r.Slots == nil {
		slots := DefaultSlots
		r.Slots = &slots
	}
	if r.ShmSize == nil {
		size := Size(d.ShmSize)
		r.ShmSize = &size
	}
	r.Devices = joinDevices(r.Devices, d.Devices)
	return c
}

func fillImages(i, d container.Images) container.Images {
	return container.Images{
		CPU:  cmp.Or(i.CPU, d.CPU, DefaultImage),
		CUDA: cmp.Or(i.CUDA, d.CUDA, DefaultImage),
		ROCm: cmp.Or(i.ROCm, d.ROCm, DefaultImage),
	}
}

// joinMounts keeps one mount per container path: the task's own takes precedence over the cluster's.
func joinMounts(own, defaults []container.BindMount, workDir string) []container.BindMount {
	out := slices.Clone(own)
	for _, d := range defaults {
		if !slices.ContainsFunc(out, func(o container.BindMount) bool {
			return absolutePath(workDir, o.ContainerPath) == absolutePath(workDir, d.ContainerPath)
		}) {
			out = append(out, d)
		}
	}
	return out
}

func joinDevices(own, defaults []container.Device) []container.Device {
	out := slices.Clone(own)
	for _, d := range defaults {
		if !slices.ContainsFunc(out, func(o container.Device) bool { return o.ContainerPath == d.ContainerPath }) {
			out = append(out, d)
		}
	}
	return out
}

// absolutePath returns an absolute path in the container.
func absolutePath(workDir, p string) string {
	if path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(workDir, p)
}

// registryAuth returns the credentials for the agent: the task's, or the cluster's, which are only in
// the cluster's configuration and never shown.
func registryAuth(c Config, d container.Defaults) *RegistryAuth {
	switch {
	case c.Environment.RegistryAuth != nil:
		return c.Environment.RegistryAuth
	case d.RegistryAuth != nil:
		return &RegistryAuth{
			Username: d.RegistryAuth.Username, Password: document.NewSecret(d.RegistryAuth.Password.Reveal()),
			Email: d.RegistryAuth.Email, ServerAddress: d.RegistryAuth.ServerAddress,
		}
	}
	return nil
}
