package podspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
)

// readPod reads a pod spec as strictly as the API server can: every field once and
// in its own case. encoding/json takes "Volumes" for volumes and the merge does not,
// so that what was checked would not be what is run. The error joins a *Refusal for each
// mistake.
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

// unreadable is the refusal of a pod spec with a value of the wrong type, in which err is
// what ended reading. encoding/json stops at the same value and knows its path.
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

// wordFor names what is written for a Go type.
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

// wordOf names a value by encoding/json's word for it.
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
