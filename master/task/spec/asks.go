package spec

import (
	"fmt"
	"slices"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
	"github.com/det-deploy/det-deploy/master/policy"
)

// Asks returns the task's requests to its machine, to be checked against a policy. Own is its owner's
// configuration, and whole the same merged over the defaults; its lists begin with the owner's entries.
func Asks(own, whole Config, user security.AgentUser) policy.Asked {
	a := policy.Asked{
		Images: namedImages(own.Environment.Image, whole.Environment.Image),
		Users:  []policy.User{{Field: "user", UID: int64(user.UID)}},
	}
	a.Chosen = a.Images
	for i, m := range whole.BindMounts {
		a.Mounts = append(a.Mounts, policy.Mount{
			Field: fmt.Sprintf("bind_mounts[%d].host_path", i), Path: m.HostPath, ReadOnly: m.ReadOnly, Propagation: m.Propagation,
		})
	}
	for i, d := range whole.Resources.Devices {
		a.Devices = append(a.Devices, policy.Text{Field: fmt.Sprintf("resources.devices[%d].host_path", i), Value: d.HostPath})
	}
	for i, c := range whole.Environment.AddCapabilities {
		a.Capabilities = append(a.Capabilities, policy.Text{Field: fmt.Sprintf("environment.add_capabilities[%d]", i), Value: c})
	}
	if p := own.Resources.Priority; p != nil {
		a.Priority = *p
	}
	if s := whole.Resources.ShmSize; s != nil {
		a.Shm = []policy.Amount{{Field: "resources.shm_size", Bytes: int64(*s)}}
	}
	return a
}

// namedImages returns the images that the owner names. The image to run is unknown before the placement;
// the cluster's images are checked then.
func namedImages(own, whole container.Images) []policy.Text {
	all := []string{own.CPU, own.CUDA, own.ROCm}
	if own == (container.Images{}) && whole == (container.Images{CPU: DefaultImage, CUDA: DefaultImage, ROCm: DefaultImage}) {
		all = []string{DefaultImage}
	}
	var out []policy.Text
	for i, image := range all {
		if image != "" && slices.Index(all, image) == i {
			out = append(out, policy.Text{Field: "environment.image", Value: image})
		}
	}
	return out
}
