package podspec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/det-deploy/det-deploy/master/rm"
)

// userPod is what the pool, and over it the task, say of the pod, with the task's
// container in it.
func userPod(r rm.Request, t Template) (*corev1.Pod, error) {
	pool, field := t.poolSpec(r)
	merged := []byte("{}")
	for _, layer := range []struct {
		field string
		json  []byte
	}{{field, pool}, {taskField, r.PodSpec}} {
		if len(layer.json) == 0 {
			continue
		}
		if err := CheckPod(layer.field, layer.json, t); err != nil {
			return nil, err
		}
		next, err := strategicpatch.StrategicMergePatch(merged, layer.json, corev1.Pod{})
		if err != nil {
			return nil, refuseField(layer.field, "it cannot be laid over what comes before it: %v", err)
		}
		merged = next
	}
	var pod corev1.Pod
	if err := kjson.UnmarshalCaseSensitivePreserveInts(merged, &pod); err != nil {
		return nil, fmt.Errorf("read the merged pod spec: %w", err)
	}
	// Lists are merged newest first; the task's container is the first of the
	// pod's, which is what kubectl logs and exec go to.
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == MainContainer })
	if at < 0 {
		pod.Spec.Containers = slices.Insert(pod.Spec.Containers, 0, corev1.Container{Name: MainContainer})
	} else if at > 0 {
		c := pod.Spec.Containers[at]
		pod.Spec.Containers = slices.Insert(slices.Delete(pod.Spec.Containers, at, at+1), 0, c)
	}
	return &pod, nil
}

// taskField is where a task says what its pod is laid over.
const taskField = "environment.pod_spec"

// poolSpec is what the pool says of the pods of such a request, and where.
func (t Template) poolSpec(r rm.Request) (spec []byte, field string) {
	if r.Slots > 0 && t.SlotType.GPU() {
		return t.GPUPodSpec, gpuField
	}
	return t.CPUPodSpec, cpuField
}

func mainContainer(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[0] }

// CheckPod refuses a pod spec that cannot be read, that sets a field that is reserved, or
// that uses what belongs to the cluster or to another task. Field is where it is
// written. The error joins a *Refusal for each mistake.
func CheckPod(field string, data []byte, t Template) error {
	pod, err := readPod(field, data)
	if err != nil {
		return err
	}
	var all []error
	for _, sentence := range append(reservedFields(pod, t), foreignContainers(&pod.Spec, t)...) {
		at, _, _ := strings.Cut(sentence, " ")
		all = append(all, &Refusal{Field: field, At: strings.TrimSuffix(at, ":"), Why: sentence})
	}
	return errors.Join(all...)
}
