package hparam

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
)

func object(t *testing.T, v map[string]any) *structpb.Struct {
	t.Helper()
	s, err := structpb.NewStruct(v)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestVarying(t *testing.T) {
	t.Parallel()
	config := object(t, map[string]any{"hyperparameters": map[string]any{
		"seed": 7, "fixed": map[string]any{"type": "const", "val": 1},
		"optimizer": map[string]any{"lr": map[string]any{"type": "log", "minval": -5}, "name": map[string]any{"type": "categorical"}, "momentum": 0.9},
		"width":     map[string]any{"type": "int"},
	}})
	want := []Spec{{"optimizer.lr", true}, {"optimizer.name", false}, {"width", false}}
	if d := cmp.Diff(Varying(config), want); d != "" {
		t.Errorf("(-got +want):\n%s", d)
	}
	if got := Varying(nil); got != nil {
		t.Errorf("got %v without a configuration", got)
	}
}

func TestFlatten(t *testing.T) {
	t.Parallel()
	flat := Flatten(object(t, map[string]any{
		"optimizer": map[string]any{"lr": 0.012345678}, "seed": 1796013833, "layers": []any{1, 2}, "name": strings.Repeat("é", 200), "on": true, "none": nil,
	}))
	for name, want := range map[string]string{
		"optimizer.lr": "0.012345678", "seed": "1796013833", "layers": "[1,2]", "name": strings.Repeat("é", 100) + "…", "on": "true", "none": "", "missing": "",
	} {
		if got := Text(flat[name]); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if lr, seed := Short(flat["optimizer.lr"]), Short(flat["seed"]); lr != "0.01235" || seed != "1796013833" {
		t.Errorf("got %s and %s for a table", lr, seed)
	}
	for name, want := range map[string]any{"optimizer.lr": 0.012345678, "on": true, "none": nil, "missing": nil, "layers": "[1,2]"} {
		if got := Value(flat[name]); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
