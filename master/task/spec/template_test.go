package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
)

func structOf(t *testing.T, json string) *structpb.Struct {
	t.Helper()
	s := &structpb.Struct{}
	if err := s.UnmarshalJSON([]byte(json)); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestClientOverridesTemplate(t *testing.T) {
	for name, tt := range map[string]struct{ template, over, want string }{
		"nothing over it": {
			`{"description": "t", "resources": {"slots": 0, "resource_pool": "cpu"}}`, `{}`,
			`{"description": "t", "resources": {"slots": 0, "resource_pool": "cpu"}}`,
		},
		"scalars": {
			`{"description": "t", "work_dir": "/t", "resources": {"slots": 2, "preemptible": true}}`,
			`{"description": "o", "resources": {"slots": 0, "preemptible": false}}`,
			`{"description": "o", "work_dir": "/t", "resources": {"slots": 0, "preemptible": false}}`,
		},
		"null is left out": {`{"description": "t"}`, `{"description": null}`, `{"description": "t"}`},
		"the entrypoint is one": {
			`{"entrypoint": ["a", "b"]}`, `{"entrypoint": ["c"]}`, `{"entrypoint": ["c"]}`,
		},
		"variables are appended": {
			`{"environment": {"environment_variables": ["A=template", "B=template"]}}`,
			`{"environment": {"environment_variables": {"cpu": ["A=mine"]}}}`,
			`{"environment": {"environment_variables": {"cpu": ["A=template", "B=template", "A=mine"], "cuda": ["A=template", "B=template"], "rocm": ["A=template", "B=template"]}}}`,
		},
		"an image for one device": {
			`{"environment": {"image": "all"}}`, `{"environment": {"image": {"cuda": "gpu"}}}`,
			`{"environment": {"image": {"cpu": "all", "cuda": "gpu", "rocm": "all"}}}`,
		},
		"mounts are joined by their place": {
			`{"bind_mounts": [{"host_path": "/t", "container_path": "/data"}, {"host_path": "/t", "container_path": "/more"}]}`,
			`{"bind_mounts": [{"host_path": "/o", "container_path": "/data"}]}`,
			`{"bind_mounts": [{"host_path": "/o", "container_path": "/data"}, {"host_path": "/t", "container_path": "/more"}]}`,
		},
		"pods and ports are merged": {
			`{"environment": {"ports": {"a": 1, "b": 2}, "pod_spec": {"spec": {"priorityClassName": "t", "dnsPolicy": "Default"}}}}`,
			`{"environment": {"ports": {"a": 3}, "pod_spec": {"spec": {"dnsPolicy": "None"}}}}`,
			`{"environment": {"ports": {"a": 3, "b": 2}, "pod_spec": {"spec": {"priorityClassName": "t", "dnsPolicy": "None"}}}}`,
		},
		"a registry": {
			`{"environment": {"registry_auth": {"username": "u", "password": "secret"}}}`, `{}`,
			`{"environment": {"registry_auth": {"username": "u", "password": "secret"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, warnings, err := Overlay("t", []byte(tt.template), structOf(t, tt.over))
			if err != nil || len(warnings) > 0 {
				t.Fatal(err, warnings)
			}
			if diff := cmp.Diff(stored(t, structOf(t, tt.want)), stored(t, out)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// stored returns a configuration in the normalized form in which it is stored.
func stored(t *testing.T, s *structpb.Struct) string {
	t.Helper()
	c, err := Decode(s)
	if err != nil {
		t.Fatal(err)
	}
	data, err := Store(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestTemplateOfExperimentsAppliesToCommands(t *testing.T) {
	merged, warnings, err := Overlay("t", []byte(`{"max_restarts": 1, "searcher": {"name": "grid"}, "resources": {"slots_per_trial": 2, "is_single_node": true, "native_parallel": true}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := Decode(merged); err != nil || len(c.Validate()) > 0 {
		t.Errorf("got %v, %v; want settings of a command", c.Validate(), err)
	}
	want := "settings of template 't' without effect on commands: max_restarts, resources.is_single_node, resources.native_parallel, resources.slots_per_trial, searcher"
	if len(warnings) != 1 || warnings[0] != want {
		t.Errorf("warnings %q, want %q", warnings, want)
	}
}

func TestErrorsNameTheirTemplate(t *testing.T) {
	for name, tt := range map[string]struct{ template, over, want string }{
		"in the template": {`{"resources": {"slots": "many"}}`, `{}`, "in template 't'"},
		"in the request":  {`{}`, `{"resorces": {}}`, "resorces: unknown key (did you mean resources?)"},
		"no mapping":      {`[1]`, `{}`, "template 't'"},
	} {
		_, _, err := Overlay("t", []byte(tt.template), structOf(t, tt.over))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
