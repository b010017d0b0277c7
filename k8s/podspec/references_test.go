package podspec

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// fieldsOf lists every field of every type in a pod spec, and the kind of object it names.
func fieldsOf(t reflect.Type, seen map[reflect.Type]bool) []string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return fieldsOf(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if seen[t] || !strings.HasPrefix(t.PkgPath(), "k8s.io/api/") {
		return nil
	}
	seen[t] = true
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		line := t.Name() + "." + f.Name + " " + strings.TrimPrefix(f.Type.String(), "v1.")
		if kind, known := kindOfField(t, f); known {
			line += " names a " + string(kind)
		}
		out = append(out, line)
		out = append(out, fieldsOf(f.Type, seen)...)
	}
	return out
}

// A field added by a later Kubernetes version changes the list. Check whether it names a Secret, an
// account or a claim, or has access to the node, extend references and asked, and accept the list
// with -update.
func TestEveryFieldOfPodSpecIsClassified(t *testing.T) {
	t.Parallel()
	fields := fieldsOf(reflect.TypeFor[corev1.PodSpec](), map[reflect.Type]bool{})
	slices.Sort(fields)
	got := strings.Join(fields, "\n") + "\n"
	golden := filepath.Join("testdata", "fields.golden")
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the fields of pod specs have changed (-looked at +there are)\n%s", diff)
	}
}

// fill sets every field that can name an object to name, one at a time, and calls try with the
// path.
func fill(v reflect.Value, path, name string, depth int, try func(path string)) {
	if depth > 12 {
		return
	}
	for i := range v.NumField() {
		f, at := v.Type().Field(i), v.Field(i)
		here := path + "." + f.Name
		switch {
		case !at.CanSet():
		case f.Type.Kind() == reflect.String:
			at.SetString(name)
			if mustBeFound(v.Type(), f) {
				try(here)
			}
			at.SetString("")
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.String:
			at.Set(reflect.New(f.Type.Elem()))
			at.Elem().SetString(name)
			if mustBeFound(v.Type(), f) {
				try(here)
			}
			at.SetZero()
		case f.Type.Kind() == reflect.Struct:
			fill(at, here, name, depth+1, try)
		case f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
			at.Set(reflect.New(f.Type.Elem()))
			fill(at.Elem(), here, name, depth+1, try)
			at.SetZero()
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			at.Set(reflect.MakeSlice(f.Type, 1, 1))
			fill(at.Index(0), here, name, depth+1, try)
			at.SetZero()
		}
	}
}

// mustBeFound decides by field names only, independently of kindOfField.
func mustBeFound(parent reflect.Type, f reflect.StructField) bool {
	names := strings.Contains(f.Name, "Secret") || strings.Contains(f.Name, "ServiceAccount")
	names = names || f.Name == "Name" && (parent == reflect.TypeFor[corev1.LocalObjectReference]() || strings.HasPrefix(parent.Name(), "Typed"))
	return names || f.Name == "ClaimName"
}

func TestEverySecretReferenceIsFound(t *testing.T) {
	t.Parallel()
	var s corev1.PodSpec
	root := reflect.ValueOf(&s).Elem()
	places := 0
	fill(root, "spec", "determined-secrets-lab", 0, func(path string) {
		if strings.Contains(path, "ConfigMap") {
			return
		}
		places++
		if !slices.ContainsFunc(listReferences(&s), func(r reference) bool { return r.name == "determined-secrets-lab" }) {
			t.Errorf("%s names something and is not found", path)
		}
	})
	if places < 24 {
		t.Errorf("got %d places, want those of all containers and volumes, 24 or more", places)
	}
}
