package doctor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Read reads the settings that checks depend on from the chart's values, merged with their
// defaults.
func (w *Wanted) Read(values map[string]any) error {
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	var v struct {
		ImagePullSecretName string `json:"imagePullSecretName"`
		TLSSecret           string `json:"tlsSecret"`
		SlotType            string `json:"slotType"`
		SlotResource        string `json:"slotResource"`
		MaxSlotsPerPod      int    `json:"maxSlotsPerPod"`
		DefaultScheduler    string `json:"defaultScheduler"`
		CheckpointStorage   struct {
			Type          string `json:"type"`
			MountToServer bool   `json:"mountToServer"`
			ExistingClaim string `json:"existingClaim"`
			StorageClass  string `json:"storageClassName"`
			AccessMode    string `json:"accessMode"`
		} `json:"checkpointStorage"`
		DB struct {
			HostAddress      string `json:"hostAddress"`
			ResourceType     string `json:"resourceType"`
			CertResourceName string `json:"certResourceName"`
			SSLRootCert      string `json:"sslRootCert"`
		} `json:"db"`
		ExternalCA string `json:"externalCaCertSecretName"`
		Ingress    struct {
			Enabled   bool   `json:"enabled"`
			TLSSecret string `json:"tlsSecret"`
		} `json:"ingress"`
		ResourceManager struct {
			DefaultNamespace string `json:"defaultNamespace"`
		} `json:"resourceManager"`
		TaskContainerDefaults struct {
			CPUPodSpec corev1.Pod `json:"cpuPodSpec"`
			GPUPodSpec corev1.Pod `json:"gpuPodSpec"`
		} `json:"taskContainerDefaults"`
		SlotResourceRequests struct {
			CPU json.Number `json:"cpu"`
		} `json:"slotResourceRequests"`
		Security struct {
			DefaultTask struct {
				UID int `json:"uid"`
			} `json:"defaultTask"`
		} `json:"security"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	w.PullSecret, w.TLSSecret, w.DatabaseHost = v.ImagePullSecretName, v.TLSSecret, v.DB.HostAddress
	if ns := v.ResourceManager.DefaultNamespace; ns != w.Namespace {
		w.TaskNamespace = ns
	}
	for _, o := range w.Objects {
		if o.Kind == "Namespace" {
			w.TaskNamespace, w.MakesTaskNamespace = o.Name, true
		}
	}
	w.Named = secretReferences("", values)
	add := func(value, name, key string) {
		if name != "" {
			w.Named = append(w.Named, Named{value, name, key})
		}
	}
	add("externalCaCertSecretName", v.ExternalCA, "")
	if v.DB.ResourceType != "configMap" {
		add("db.certResourceName", v.DB.CertResourceName, v.DB.SSLRootCert)
	}
	if v.Ingress.Enabled {
		add("ingress.tlsSecret", v.Ingress.TLSSecret, corev1.TLSCertKey)
	}
	w.Coscheduler = v.DefaultScheduler == "coscheduler"
	w.HostPaths, w.SharedFS = v.CheckpointStorage.MountToServer, v.CheckpointStorage.Type == "shared_fs"
	w.CheckpointClaim = v.CheckpointStorage.ExistingClaim
	w.CheckpointClass, w.CheckpointMode = v.CheckpointStorage.StorageClass, v.CheckpointStorage.AccessMode
	w.Slots = Slots{MaxPerPod: v.MaxSlotsPerPod, Resource: cmp.Or(corev1.ResourceName(v.SlotResource), SlotResource(v.SlotType))}
	// Task pods tolerate the taint that clouds put on GPU nodes.
	w.Slots.Tolerations = slices.Clone(v.TaskContainerDefaults.GPUPodSpec.Spec.Tolerations)
	if w.Slots.Resource != "" {
		for _, name := range slices.Compact([]corev1.ResourceName{w.Slots.Resource, SlotResource(v.SlotType)}) {
			w.Slots.Tolerations = append(w.Slots.Tolerations, corev1.Toleration{Key: string(name), Operator: corev1.TolerationOpExists})
		}
	}
	cpu, _ := v.SlotResourceRequests.CPU.Float64() // validated by the chart's schema
	without := taskContainerOf(v.TaskContainerDefaults.CPUPodSpec, "of a task without slots", nil)
	with := v.TaskContainerDefaults.GPUPodSpec
	if w.Slots.Resource == "" {
		with = v.TaskContainerDefaults.CPUPodSpec
	}
	w.Tasks = Tasks{
		Root:       v.Security.DefaultTask.UID == 0,
		Containers: []corev1.Container{without, taskContainerOf(with, "of a task with slots", slotsOf(w.Slots, cpu))},
	}
	return nil
}

// secretReferences returns the entries of Secrets that values reference: {name, key} in a value
// whose name ends in ExistingSecret.
func secretReferences(under string, values map[string]any) []Named {
	var out []Named
	for _, key := range slices.Sorted(maps.Keys(values)) {
		m, ok := values[key].(map[string]any)
		if !ok {
			continue
		}
		if !strings.HasSuffix(key, "ExistingSecret") {
			out = append(out, secretReferences(under+key+".", m)...)
			continue
		}
		name, _ := m["name"].(string) // validated by the chart's schema
		entry, _ := m["key"].(string)
		out = append(out, Named{under + key, name, entry})
	}
	return out
}

// SlotResource returns the node resource of a slot type, or "" for CPUs, which every node has.
func SlotResource(slotType string) corev1.ResourceName {
	switch slotType {
	case "cpu":
		return ""
	case "rocm":
		return "amd.com/gpu"
	default:
		return "nvidia.com/gpu"
	}
}
