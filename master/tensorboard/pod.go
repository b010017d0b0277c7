package tensorboard

import (
	"encoding/json"
	"slices"

	"github.com/det-deploy/det-deploy/internal/document"
)

// taskContainer is the name of the task's container in pod specs.
const taskContainer = "determined-container"

// sharedPod is what the TensorBoard of another user takes from an experiment's pod spec: where it can run, and
// the volumes, one of which may be the storage. Programs, variables and annotations may contain passwords.
type sharedPod struct {
	Metadata struct {
		Labels json.RawMessage `json:"labels,omitempty"`
	} `json:"metadata,omitzero"`
	Spec struct {
		Affinity           json.RawMessage   `json:"affinity,omitempty"`
		Containers         []sharedContainer `json:"containers,omitempty"`
		ImagePullSecrets   json.RawMessage   `json:"imagePullSecrets,omitempty"`
		NodeSelector       json.RawMessage   `json:"nodeSelector,omitempty"`
		RuntimeClassName   json.RawMessage   `json:"runtimeClassName,omitempty"`
		SchedulerName      json.RawMessage   `json:"schedulerName,omitempty"`
		SecurityContext    json.RawMessage   `json:"securityContext,omitempty"`
		ServiceAccountName json.RawMessage   `json:"serviceAccountName,omitempty"`
		Tolerations        json.RawMessage   `json:"tolerations,omitempty"`
		Volumes            json.RawMessage   `json:"volumes,omitempty"`
	} `json:"spec,omitzero"`
}

type sharedContainer struct {
	Name         string          `json:"name"`
	VolumeMounts json.RawMessage `json:"volumeMounts,omitempty"`
}

// sharedPart returns the part of a pod spec that TensorBoards of all users take.
func sharedPart(whole document.Raw) (document.Raw, error) {
	if whole.IsZero() {
		return whole, nil
	}
	var p sharedPod
	if err := json.Unmarshal(whole.JSON(), &p); err != nil {
		return document.Raw{}, err
	}
	p.Spec.Containers = slices.DeleteFunc(p.Spec.Containers, func(c sharedContainer) bool { return c.Name != taskContainer })
	data, err := json.Marshal(p)
	if err != nil {
		return document.Raw{}, err
	}
	return document.RawJSON(data)
}
