package program

import (
	"cmp"
	"slices"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/experiment/config"
	"github.com/det-deploy/det-deploy/master/policy"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

// taskConfig returns the part of an experiment's configuration that every task has.
func taskConfig(x config.Experiment, d container.Defaults) spec.Config {
	c := spec.Config{
		BindMounts: slices.Clone([]container.BindMount(x.BindMounts)), Environment: x.Environment,
		WorkDir: cmp.Or(d.WorkDir, spec.DefaultWorkDir),
		Resources: spec.Resources{
			Slots: x.Resources.SlotsPerTrial, ShmSize: x.Resources.ShmSize, Devices: x.Resources.Devices,
		},
	}
	if x.Name != nil {
		c.Description = *x.Name
	}
	return c
}

// Asks returns the resources of the machine that an experiment requests, such as mounts, devices and
// capabilities. The configuration must be complete and include the pool's defaults.
func Asks(x config.Experiment, d container.Defaults, user security.AgentUser) policy.Asked {
	whole := taskConfig(x, d)
	own := whole
	own.Environment.Image = notGiven(whole.Environment.Image, d.Image)
	own.Resources.Priority = x.Resources.Priority
	asked := spec.Asks(own, whole, user)
	if s := x.CheckpointStorage.Typed().SharedFS; s != nil {
		asked.Mounts = append(asked.Mounts, policy.Mount{
			Field: "checkpoint_storage.host_path", Path: s.HostPath, Propagation: propagationOf(s), Storage: true,
		})
	}
	return asked
}

// notGiven returns all without the images that the cluster provides.
func notGiven(all, given container.Images) container.Images {
	differ := func(image, given string) string {
		if image == given {
			return ""
		}
		return image
	}
	return container.Images{CPU: differ(all.CPU, given.CPU), CUDA: differ(all.CUDA, given.CUDA), ROCm: differ(all.ROCm, given.ROCm)}
}
