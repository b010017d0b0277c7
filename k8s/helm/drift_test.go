package helm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

func TestDriftOmitsSecrets(t *testing.T) {
	t.Parallel()
	data := func(m map[string]any) map[string]any { return map[string]any{"data": m} }
	for name, tc := range map[string]struct {
		have, will map[string]any
		want       []resource.Drift
	}{
		"another":       {data(map[string]any{"k": "b2xk"}), data(map[string]any{"k": "bmV3"}), []resource.Drift{{Path: "data.k", Have: hidden, Want: hidden + " (another)"}}},
		"the same":      {data(map[string]any{"k": "b2xk"}), data(map[string]any{"k": "b2xk"}), nil},
		"emptied":       {map[string]any{}, data(map[string]any{"k": "bmV3"}), []resource.Drift{{Path: "data.k", Have: "none", Want: hidden}}},
		"to be empty":   {data(map[string]any{"k": "b2xk"}), map[string]any{}, []resource.Drift{{Path: "data.k", Have: hidden, Want: "none"}}},
		"as plain text": {map[string]any{}, map[string]any{"stringData": map[string]any{"k": "new"}}, []resource.Drift{{Path: "stringData.k", Have: "none", Want: hidden}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(findDrift(Object{Kind: "Secret"}, tc.have, tc.will), tc.want); d != "" {
				t.Errorf("got -, want +:\n%s", d)
			}
		})
	}
}
