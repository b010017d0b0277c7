package spec

import (
	"cmp"
	"slices"

	"github.com/det-deploy/det-deploy/master/config/container"
)

// Inherit merges the result of Decode over the settings that a task takes from another one: its image with the
// credentials for the registry, variables, mounts, pod spec and resource pool. It returns a *DecodeError.
func Inherit(c, from Config) (Config, error) {
	n, below := &c.Environment, from.Environment
	if n.RegistryAuth == nil && n.Image == (container.Images{}) {
		n.RegistryAuth = below.RegistryAuth
	}
	n.Image = container.Images{
		CPU: cmp.Or(n.Image.CPU, below.Image.CPU), CUDA: cmp.Or(n.Image.CUDA, below.Image.CUDA), ROCm: cmp.Or(n.Image.ROCm, below.Image.ROCm),
	}
	n.Variables = container.Environment{
		CPU:  slices.Concat(below.Variables.CPU, n.Variables.CPU),
		CUDA: slices.Concat(below.Variables.CUDA, n.Variables.CUDA),
		ROCm: slices.Concat(below.Variables.ROCm, n.Variables.ROCm),
	}
	c.BindMounts = joinMounts(c.BindMounts, from.BindMounts, cmp.Or(c.WorkDir, DefaultWorkDir))
	c.Resources.ResourcePool = cmp.Or(c.Resources.ResourcePool, from.Resources.ResourcePool)
	var err error
	n.PodSpec, err = overlayRaw(below.PodSpec, n.PodSpec)
	return c, err
}
