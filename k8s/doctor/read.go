package doctor

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Read takes from the chart's values, with its own beneath them, what checks
// depend on.
func (w *Wanted) Read(values map[string]any) error {
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	var v struct {
		ImagePullSecretName string `json:"imagePullSecretName"`
		TLSSecret           string `json:"tlsSecret"`
		SlotType            string `json:"slotType"`
		MaxSlotsPerPod      int    `json:"maxSlotsPerPod"`
		DefaultScheduler    string `json:"defaultScheduler"`
		CheckpointStorage   struct {
			Type string `json:"type"`
		} `json:"checkpointStorage"`
		DB struct {
			HostAddress string `json:"hostAddress"`
		} `json:"db"`
		TaskContainerDefaults struct {
			GPUPodSpec corev1.Pod `json:"gpuPodSpec"`
		} `json:"taskContainerDefaults"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	w.PullSecret, w.TLSSecret, w.DatabaseHost = v.ImagePullSecretName, v.TLSSecret, v.DB.HostAddress
	w.Coscheduler = v.DefaultScheduler == "coscheduler"
	w.HostPaths = v.CheckpointStorage.Type == "shared_fs"
	w.Slots = Slots{MaxPerPod: v.MaxSlotsPerPod}
	switch v.SlotType {
	case "cpu":
	case "rocm":
		w.Slots.Resource = "amd.com/gpu"
	default:
		w.Slots.Resource = "nvidia.com/gpu"
	}
	// Task pods tolerate the taint that clouds put on GPU nodes.
	w.Slots.Tolerations = slices.Clone(v.TaskContainerDefaults.GPUPodSpec.Spec.Tolerations)
	if w.Slots.Resource != "" {
		w.Slots.Tolerations = append(w.Slots.Tolerations, corev1.Toleration{Key: string(w.Slots.Resource), Operator: corev1.TolerationOpExists})
	}
	return nil
}
