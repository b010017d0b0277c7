package podspec

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/det-deploy/det-deploy/master/rm"
)

// userPod merges the pod specs of the resource pool and of the task, and adds the task's container.
func userPod(r rm.Request, t Template) (*corev1.Pod, error) {
	pod, err := mergeSpecs(r, t)
	if err != nil {
		return nil, err
	}
	// The merge puts new list entries first. The task's container becomes the first of the pod,
	// which is the default of kubectl logs and exec.
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == MainContainer })
	if at < 0 {
		pod.Spec.Containers = slices.Insert(pod.Spec.Containers, 0, corev1.Container{Name: MainContainer})
	} else if at > 0 {
		c := pod.Spec.Containers[at]
		pod.Spec.Containers = slices.Insert(slices.Delete(pod.Spec.Containers, at, at+1), 0, c)
	}
	return pod, nil
}

// mergeSpecs merges the pod specs of the resource pool and of the task. The error joins all problems in both.
func mergeSpecs(r rm.Request, t Template) (*corev1.Pod, error) {
	pool, field := t.poolSpec(r)
	merged, last := []byte("{}"), field
	var errs []error
	for _, layer := range []struct {
		field string
		json  []byte
	}{{field, pool}, {taskField, r.PodSpec}} {
		if len(layer.json) == 0 {
			continue
		}
		errs = append(errs, CheckPod(layer.field, layer.json, t))
		next, err := strategicpatch.StrategicMergePatch(merged, layer.json, corev1.Pod{})
		if err != nil {
			return nil, cmp.Or(errors.Join(errs...), refuseField(layer.field, "it cannot be laid over what comes before it: %v", err))
		}
		merged, last = next, layer.field
	}
	var pod corev1.Pod
	if err := kjson.UnmarshalCaseSensitivePreserveInts(merged, &pod); err != nil {
		return nil, cmp.Or(errors.Join(errs...), fmt.Errorf("read the merged pod spec: %w", err))
	}
	errs = append(errs, checkMounts(last, &pod.Spec))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &pod, nil
}

// taskField is the setting with a task's pod spec.
const taskField = "environment.pod_spec"

// poolSpec returns the resource pool's pod spec for a request, and the setting that contains it.
func (t Template) poolSpec(r rm.Request) (spec []byte, field string) {
	if r.Slots > 0 && t.SlotType.GPU() {
		return t.GPUPodSpec, gpuField
	}
	return t.CPUPodSpec, cpuField
}

func mainContainer(p *corev1.Pod) *corev1.Container { return &p.Spec.Containers[0] }

// CheckPod returns an error for a pod spec that is invalid, that sets a reserved field, or that
// uses objects of the cluster or another task. field is the setting that contains it. The error
// joins a *Refusal per problem.
func CheckPod(field string, data []byte, t Template) error {
	pod, err := readPod(field, data)
	if err != nil {
		return err
	}
	var all []error
	for _, sentence := range slices.Concat(reservedFields(pod, t), invalidTolerations(pod.Spec.Tolerations), foreignReferences(&pod.Spec, t)) {
		at, _, _ := strings.Cut(sentence, " ")
		all = append(all, &Refusal{Field: field, At: strings.TrimSuffix(at, ":"), Why: sentence})
	}
	return errors.Join(all...)
}

// readPod parses a pod spec as strictly as the API server: no duplicate fields and exact case.
// encoding/json accepts "Volumes" for volumes and the merge does not, so the checked spec could
// differ from the one that is run. The error joins a *Refusal per problem.
func readPod(field string, data []byte) (*corev1.Pod, error) {
	var pod corev1.Pod
	strict, err := kjson.UnmarshalStrict(data, &pod)
	if err != nil {
		return nil, unreadable(field, data, err)
	}
	var all []error
	for _, mistake := range strict {
		r := &Refusal{Field: field, Why: mistake.Error()}
		if at, known := errors.AsType[kjson.FieldError](mistake); known {
			r.At = at.FieldPath()
		}
		if !strings.Contains(r.At, ".") {
			r.Why = notAPod + r.Why
		}
		all = append(all, r)
	}
	if err := errors.Join(all...); err != nil {
		return nil, err
	}
	return &pod, nil
}

const notAPod = "is not a Pod of Kubernetes (apiVersion, kind, metadata, spec): "

// unreadable returns the error for a pod spec with a value of the wrong type; err is the parser's
// error. encoding/json fails at the same value and reports its path.
func unreadable(field string, data []byte, err error) error {
	mistake, typed := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(data, new(corev1.Pod)))
	switch {
	case errors.Is(err, resource.ErrFormatWrong):
		return refuseField(field, "a quantity of resources must be a number with a unit, such as 500m or 4Gi")
	case !typed:
		return refuseField(field, notAPod+"%v", err)
	case mistake.Field == "":
		return refuseField(field, notAPod+"must be a mapping, is %s", wordOf(mistake.Value))
	}
	return &Refusal{
		Field: field, At: mistake.Field,
		Why: fmt.Sprintf("%s must be %s, is %s", mistake.Field, wordFor(mistake.Type.Kind()), wordOf(mistake.Value)),
	}
}

// wordFor describes the expected value of a Go type.
func wordFor(k reflect.Kind) string {
	switch k { //nolint:exhaustive // the others are numbers
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// wordOf describes a value, given encoding/json's description.
func wordOf(value string) string {
	kind, number, _ := strings.Cut(value, " ")
	switch kind {
	case "string":
		return "text"
	case "array":
		return "a list"
	case "object":
		return "a mapping"
	case "bool":
		return "true or false"
	}
	return strings.TrimSpace("the number " + number)
}
