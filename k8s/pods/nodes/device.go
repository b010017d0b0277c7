package nodes

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// CountSlots returns the number of slots of a node, according to the resource pools' template.
func CountSlots(n *corev1.Node, t podspec.Template) int {
	if t.SlotType == podspec.CPU {
		q := n.Status.Allocatable[corev1.ResourceCPU]
		return int(float64(q.MilliValue()) / (1000 * t.SlotCPU))
	}
	q := n.Status.Allocatable[t.ResourceOfSlot()]
	return int(q.Value())
}

// DeviceType returns the API type of a slot.
func DeviceType(t podspec.SlotType) apiv1.Device_Type {
	switch t {
	case podspec.ROCm:
		return apiv1.Device_TYPE_ROCM
	case podspec.CPU:
		return apiv1.Device_TYPE_CPU
	case podspec.CUDA:
	}
	return apiv1.Device_TYPE_CUDA
}

// Brand returns the brand of a node's devices, from the labels of NVIDIA's and AMD's feature
// discovery.
func Brand(n *corev1.Node, t podspec.SlotType) string {
	for _, key := range []string{"nvidia.com/gpu.product", "amd.com/gpu.product-name"} {
		if v := n.Labels[key]; v != "" {
			return v
		}
	}
	return string(t)
}
