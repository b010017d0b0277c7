package template

import (
	"slices"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// All returns all templates by name, as visible to by.
func (t *Templates) All(by *apiv1.User) []*apiv1.Template {
	list := t.list()
	out := make([]*apiv1.Template, 0, len(list))
	for _, r := range list {
		out = append(out, t.show(by, r))
	}
	return out
}

// Get returns a template as visible to by. It returns an error of code NotFound.
func (t *Templates) Get(by *apiv1.User, name string) (*apiv1.Template, error) {
	r, err := t.find(name)
	if err != nil {
		return nil, err
	}
	return t.show(by, r), nil
}

// show returns a template as visible to by: only users who may change it see its secrets, environment
// variables and pod spec.
func (t *Templates) show(by *apiv1.User, r record) *apiv1.Template {
	config, err := decodeConfig(r.Config)
	if err != nil { // it was parsed before it was stored
		config = &structpb.Struct{}
	}
	if !t.mayChange(by, r) {
		dropSecrets(config)
	}
	return &apiv1.Template{Name: r.Name, Config: config, WorkspaceId: r.WorkspaceID}
}

// secretKeys returns the settings of storages and registries that are secret, and those of programs that may
// be.
func secretKeys() []string {
	return []string{
		"access_key", "secret_key", "connection_string", "credential",
		"password", "auth", "identitytoken", "registrytoken", "environment_variables", "pod_spec",
	}
}

// dropSecrets removes what may be secret from a configuration.
func dropSecrets(s *structpb.Struct) {
	for key, value := range s.GetFields() {
		if slices.Contains(secretKeys(), key) {
			delete(s.Fields, key)
			continue
		}
		dropSecrets(value.GetStructValue())
		for _, item := range value.GetListValue().GetValues() {
			dropSecrets(item.GetStructValue())
		}
	}
}
