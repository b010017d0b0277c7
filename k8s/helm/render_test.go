package helm_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/k8s/helm"
)

func sample(values map[string]any) helm.Release {
	return helm.Release{Name: "lab", Namespace: "ns", Values: values, Chart: os.DirFS("testdata/chart"), AppVersion: "1.2.3"}
}

func TestRenderingNeedsNoServerAndIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	values := map[string]any{"extra": true, "store": map[string]any{"type": "external"}}
	first, err := helm.Render(sample(values), helm.NoServer())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range first.Objects {
		got = append(got, o.String())
	}
	want := []string{"Secret config-lab", "ConfigMap extra-lab", "PersistentVolumeClaim data-lab", "Service front-lab", "Deployment app-lab"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if !first.Objects[2].Keep || first.Objects[0].Keep {
		t.Error("got another word on what is kept than the chart's")
	}
	if got, want := first.Notes, "lab is in ns.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(first.Manifest(), `value: "1.2.3"`) {
		t.Error("got the chart's own version, want the program's")
	}
	for range 5 {
		again, err := helm.Render(sample(values), helm.NoServer())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(again, first); d != "" {
			t.Fatalf("got -, want +:\n%s", d)
		}
	}
	if d := cmp.Diff(values, map[string]any{"extra": true, "store": map[string]any{"type": "external"}}); d != "" {
		t.Errorf("the values were changed:\n%s", d)
	}
}

func TestValueErrorsAreSentences(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		values map[string]any
		want   []string
	}{
		{"none", nil, nil},
		{"an unknown key names the nearest", map[string]any{"replica": 1}, []string{"replica: there is no such value (is replicas meant?)"}},
		{"an unknown key within", map[string]any{"store": map[string]any{"hots": "a"}}, []string{"store.hots: there is no such value (is host meant?)"}},
		{"a key like no other", map[string]any{"zzzzzzzzz": 1}, []string{"zzzzzzzzz: there is no such value"}},
		{"a wrong type", map[string]any{"replicas": "two"}, []string{"replicas: must be a whole number (it is a string)"}},
		{"too few", map[string]any{"replicas": 0}, []string{"replicas: must be at least 1 (it is 0)"}},
		{"a word that is none of them", map[string]any{"slotType": "tpu"}, []string{"slotType: must be one of gpu, cpu (is gpu meant?)"}},
		{"a secret where it does not belong", map[string]any{"slotType": "hunter2", "replicas": "hunter2", "store": "hunter2"}, []string{
			"replicas: must be a whole number (it is a string)", "slotType: must be one of gpu, cpu", "store: must be a map (it is a string)",
		}},
		{"missing in a list", map[string]any{"pools": []any{map[string]any{}}}, []string{"pools[0].pool_name: must be given"}},
		{
			"a contradiction speaks for itself",
			map[string]any{"maxSlotsPerPod": 0},
			[]string{"maxSlotsPerPod: must be at least 1 with GPU slots: it is the number of GPUs of a node"},
		},
		{
			"all at once",
			map[string]any{"replicas": 0, "extra": "yes"},
			[]string{"extra: must be true or false (it is a string)", "replicas: must be at least 1 (it is 0)"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := helm.Render(sample(tc.values), helm.NoServer())
			var got []string
			if e, ok := errors.AsType[*helm.ValuesError](err); ok {
				got = e.Lines
			} else if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}

// The cached schema of one chart is not used for another's values.
func TestEachChartHasItsOwnRules(t *testing.T) {
	t.Parallel()
	chart := func(kind string) helm.Release {
		return helm.Release{Name: "lab", Namespace: "ns", Values: map[string]any{"size": 1}, Chart: fstest.MapFS{
			"Chart.yaml":         {Data: []byte("{apiVersion: v2, name: " + kind + ", version: 0.0.0}")},
			"values.schema.json": {Data: []byte(`{"properties": {"size": {"type": "` + kind + `"}}}`)},
		}}
	}
	for range 3 {
		if err := helm.CheckValues(chart("integer")); err != nil {
			t.Errorf("an integer: got %v, want it taken", err)
		}
		if err := helm.CheckValues(chart("string")); err == nil {
			t.Error("an integer where a string belongs: got it taken, want it refused")
		}
	}
}

func TestValuesAreMergedAsHelmDoes(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/v.yaml"
	if err := os.WriteFile(file, []byte("a: {b: 1, c: 2}\nd: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := helm.Values(helm.Given{
		Files: []string{file}, SetJSON: []string{`e={"f":[1]}`}, Set: []string{"a.b=3,g=true"},
		SetString: []string{"h=5"}, SetLiteral: []string{"i=a,b"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"a": map[string]any{"b": int64(3), "c": float64(2)}, "d": "x",
		"e": map[string]any{"f": []any{float64(1)}}, "g": true, "h": "5", "i": "a,b",
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

// Helm's error messages quote their input.
func TestUnreadableValueIsNotQuoted(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/password"
	if err := os.WriteFile(file, []byte("hunter2"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		given helm.Given
		want  string
	}{
		"a comma in a password":          {helm.Given{Set: []string{"a=1", "db.password=x,hunter2"}}, "--set number 2 cannot be read"},
		"the same as a text":             {helm.Given{SetString: []string{"db.password=x,hunter2"}}, "--set-string number 1"},
		"broken JSON":                    {helm.Given{SetJSON: []string{`db={"password":"hunter2"`}}, "--set-json number 1"},
		"a password in the file's place": {helm.Given{Files: []string{file}}, file + ": it is not a YAML mapping"},
		"a file that is not there":       {helm.Given{Files: []string{file + "x"}}, "no such file"},
		"a text that is to be a map":     {helm.Given{Set: []string{"a=hunter2", "a.b=1"}}, "one contradicts another"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := helm.Values(tc.given)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v, want %q and no secret", err, tc.want)
			}
		})
	}
}
