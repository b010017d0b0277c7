package chart_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

type tree = map[string]any

func TestValuesAreMerged(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ base, over, want chart.Values }{
		"what is left out stays":      {chart.Values{"a": 1}, chart.Values{"b": 2}, chart.Values{"a": 1, "b": 2}},
		"maps are merged":             {chart.Values{"db": tree{"name": "x", "port": 1}}, chart.Values{"db": tree{"port": 2}}, chart.Values{"db": tree{"name": "x", "port": 2}}},
		"lists are replaced whole":    {chart.Values{"pools": []any{1, 2}}, chart.Values{"pools": []any{3}}, chart.Values{"pools": []any{3}}},
		"null takes away":             {chart.Values{"a": 1, "db": tree{"name": "x"}}, chart.Values{"a": nil, "db": tree{"name": nil}}, chart.Values{"db": tree{}}},
		"a map takes a text's place":  {chart.Values{"a": "x"}, chart.Values{"a": tree{"b": 1}}, chart.Values{"a": tree{"b": 1}}},
		"nothing over nothing":        {nil, nil, chart.Values{}},
		"null in a map that was none": {chart.Values{}, chart.Values{"a": tree{"b": nil, "c": 1}}, chart.Values{"a": tree{"c": 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.over.Over(tc.base), tc.want); diff != "" {
				t.Errorf("values (-got +want):\n%s", diff)
			}
		})
	}
}

func TestSecretsAreNeitherShownNorRemembered(t *testing.T) {
	t.Parallel()
	v := chart.Values{
		"maxSlotsPerPod": 4, "defaultPassword": "hunter2",
		"db":                tree{"password": "hunter2", "name": "determined"},
		"checkpointStorage": tree{"type": "s3", "secretKey": "hunter2", "accessKey": ""},
	}
	if diff := cmp.Diff(v.Shown(), chart.Values{
		"maxSlotsPerPod": 4, "defaultPassword": "‹redacted›",
		"db":                tree{"password": "‹redacted›", "name": "determined"},
		"checkpointStorage": tree{"type": "s3", "secretKey": "‹redacted›", "accessKey": ""},
	}); diff != "" {
		t.Errorf("shown (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(v.Remembered(), chart.Values{
		"maxSlotsPerPod": 4, "db": tree{"name": "determined"}, "checkpointStorage": tree{"type": "s3"},
	}); diff != "" {
		t.Errorf("remembered (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(v.Secrets(), []string{"checkpointStorage.secretKey", "db.password", "defaultPassword"}); diff != "" {
		t.Errorf("secrets (-got +want):\n%s", diff)
	}
}

// Values that the chart does not mark as secret may contain secrets.
func TestPossibleSecretsAreHidden(t *testing.T) {
	t.Parallel()
	v := chart.Values{
		"oidc":                              tree{"enabled": false, "clientSecret": "hunter2"},
		"initialUserPasswordExistingSecret": tree{"name": "mine", "key": "password"},
		"tlsSecret":                         "certificate", "imagePullSecretName": "registry",
		"taskContainerDefaults": tree{
			"environmentVariables": []any{"HF_TOKEN=hunter2"},
			"cpuPodSpec":           tree{"spec": tree{"containers": []any{tree{"name": "c", "env": []any{tree{"name": "KEY", "value": "hunter2"}}}}}},
		},
		"resourcePools": []any{tree{"pool_name": "a", "task_container_defaults": tree{"environment_variables": tree{"cpu": []any{"A=hunter2"}}}}},
	}
	if diff := cmp.Diff(v.Shown(), chart.Values{
		"oidc":                              tree{"enabled": false, "clientSecret": "‹redacted›"},
		"initialUserPasswordExistingSecret": tree{"name": "mine", "key": "password"},
		"tlsSecret":                         "certificate", "imagePullSecretName": "registry",
		"taskContainerDefaults": tree{
			"environmentVariables": []any{"HF_TOKEN=‹redacted›"},
			"cpuPodSpec":           tree{"spec": tree{"containers": []any{tree{"name": "c", "env": []any{tree{"name": "KEY", "value": "‹redacted›"}}}}}},
		},
		"resourcePools": []any{tree{"pool_name": "a", "task_container_defaults": tree{"environment_variables": tree{"cpu": []any{"A=‹redacted›"}}}}},
	}); diff != "" {
		t.Errorf("shown (-got +want):\n%s", diff)
	}
}
