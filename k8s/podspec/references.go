package podspec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// kindOfObject is a kind of object that a pod spec references.
type kindOfObject string

const (
	secretObject  kindOfObject = "Secret"
	pullObject    kindOfObject = "Secret to pull images with"
	accountObject kindOfObject = "ServiceAccount"
	claimObject   kindOfObject = "PersistentVolumeClaim or its snapshot"
	priorityClass kindOfObject = "PriorityClass"
	// optionObject is an option of a volume driver, which may be the name of any object: some
	// drivers read Secrets named in their options.
	optionObject kindOfObject = "driver option"
)

// reference is a referenced object and the path of the reference.
type reference struct {
	path, name string
	kind       kindOfObject
}

// listReferences returns all references to Secrets, ServiceAccounts, volume claims and the priority
// class in a pod spec. It walks all fields instead of a list of known ones, so that it covers
// fields added by later Kubernetes versions; a test compares the API's types with this file.
func listReferences(s *corev1.PodSpec) []reference {
	w := &walk{}
	w.walkValue("spec", reflect.ValueOf(s).Elem())
	return w.found
}

type walk struct{ found []reference }

func (w *walk) addReference(kind kindOfObject, path, name string) {
	if name != "" {
		w.found = append(w.found, reference{path: path, name: name, kind: kind})
	}
}

func (w *walk) walkValue(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.walkValue(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			w.walkValue(path+elementName(v.Index(i), i), v.Index(i))
		}
	case reflect.Struct:
		w.walkFields(path, v)
	default:
	}
}

// elementName formats an entry of a list, by name if it has one.
func elementName(v reflect.Value, i int) string {
	if v.Kind() == reflect.Struct {
		if name := v.FieldByName("Name"); name.IsValid() && name.Kind() == reflect.String && name.String() != "" {
			return "[" + name.String() + "]"
		}
	}
	return fmt.Sprintf("[%d]", i)
}

func (w *walk) walkFields(path string, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		at := path
		if name := jsonName(f); name != "" {
			at += "." + name
		}
		if kind, known := kindOfField(v.Type(), f); known {
			w.addNamed(kind, at, v.Field(i))
			continue
		}
		w.walkValue(at, v.Field(i))
	}
}

// jsonName returns a field's JSON name, or "" for an embedded field.
func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// addNamed adds the names in a field of a known kind.
func (w *walk) addNamed(kind kindOfObject, path string, v reflect.Value) {
	switch o := v.Interface().(type) {
	case string:
		w.addReference(kind, path, o)
	case *string:
		if o != nil {
			w.addReference(kind, path, *o)
		}
	case map[string]string:
		for _, key := range slices.Sorted(maps.Keys(o)) {
			w.addReference(kind, path+"["+key+"]", o[key])
		}
	case corev1.LocalObjectReference:
		w.addReference(kind, path+".name", o.Name)
	case *corev1.LocalObjectReference:
		if o != nil {
			w.addReference(kind, path+".name", o.Name)
		}
	case []corev1.LocalObjectReference:
		for i, ref := range o {
			w.addReference(kind, fmt.Sprintf("%s[%d].name", path, i), ref.Name)
		}
	case *corev1.TypedLocalObjectReference:
		if o != nil {
			w.addReference(kind, path+".name", o.Name)
		}
	case *corev1.TypedObjectReference:
		if o != nil {
			w.addReference(kind, path+".name", o.Name)
		}
	}
}

// kindOfField returns the kind of object that a field references, by its type and name. A reference
// of unknown kind counts as a Secret.
func kindOfField(parent reflect.Type, f reflect.StructField) (kindOfObject, bool) {
	switch f.Type {
	case reflect.TypeFor[corev1.LocalObjectReference](), reflect.TypeFor[*corev1.LocalObjectReference](), reflect.TypeFor[[]corev1.LocalObjectReference]():
		if f.Name == "ImagePullSecrets" {
			return pullObject, true
		}
		return secretObject, !strings.HasPrefix(parent.Name(), "ConfigMap")
	case reflect.TypeFor[*corev1.TypedLocalObjectReference](), reflect.TypeFor[*corev1.TypedObjectReference]():
		return claimObject, true
	}
	switch {
	case strings.Contains(f.Name, "ServiceAccount") && isString(f.Type):
		return accountObject, true
	case strings.Contains(f.Name, "Secret") && isString(f.Type):
		return secretObject, true
	case f.Name == "PriorityClassName" && parent == reflect.TypeFor[corev1.PodSpec]():
		return priorityClass, true
	case f.Name == "ClaimName" && parent == reflect.TypeFor[corev1.PersistentVolumeClaimVolumeSource]():
		return claimObject, true
	case parent == reflect.TypeFor[corev1.CSIVolumeSource]() && f.Name == "VolumeAttributes",
		parent == reflect.TypeFor[corev1.FlexVolumeSource]() && f.Name == "Options":
		return optionObject, true
	}
	return "", false
}

func isString(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.String
}

// foreignReferences returns an error text for each reference to an object of the cluster or of
// another task. This applies to administrators too: with the passwords of the master and its
// database, or with another task's token, a task could act as another user.
func foreignReferences(s *corev1.PodSpec, t Template) []string {
	var out []string
	for _, r := range listReferences(s) {
		if why := t.ownerOf(r); why != "" {
			out = append(out, fmt.Sprintf("%s: no task may use %s %s, which belongs to %s", r.path, r.kind, r.name, why))
		}
	}
	return out
}

// ownerOf returns the owner of an object that no task may use, or "" if tasks may use it.
func (t Template) ownerOf(r reference) string {
	const cluster = "the cluster"
	begins := func(prefixes ...string) bool {
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(r.name, p) })
	}
	isSecret := r.kind == secretObject || r.kind == pullObject || r.kind == optionObject
	isClaim := r.kind == claimObject || r.kind == optionObject
	switch {
	case r.kind == pullObject && slices.Contains(t.PullSecrets, r.name):
		return "" // all tasks of the cluster pull with it
	case r.kind != accountObject && (slices.Contains(t.Protected, r.name) || isSecret && slices.Contains(t.PullSecrets, r.name)):
		return cluster
	case isClaim && (r.name == t.CheckpointClaim || begins(checkpointClaims)):
		return cluster + ": experiments get their own directories of it"
	case isSecret && begins(jobPrefix):
		return "a task"
	case isSecret && begins("determined-secrets-", "determined-master-", "determined-db-", "determined-coscheduler-", "sh.helm.release."):
		return cluster
	case isClaim && begins("determined-db-", "determined-master-", "determined-backup-"):
		return cluster
	case r.kind == accountObject && begins("determined-master-", "determined-db-", "determined-coscheduler-"):
		return cluster
	}
	return ""
}
