package helm

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// noValue returns the reason why a security setting of master.yaml has no value, or "".
func noValue(path string) string {
	for prefix, why := range map[string]string{
		"tls.cert":                            "tlsSecret has both",
		"tls.key":                             "tlsSecret has both",
		"allow_blank_password":                "there is a password always",
		"allow_plain_http":                    "the chart sets it without tlsSecret",
		"ssh":                                 "not built yet",
		"token":                               "not built yet; refused by name",
		"authz.fallback":                      "not built yet",
		"authz.rbac_ui_enabled":               "not built yet",
		"authz.workspace_creator_assign_role": "not built yet",
		"authz.strict_job_queue_control":      "not built yet",
	} {
		if path == prefix || strings.HasPrefix(path, prefix+".") {
			return why
		}
	}
	return ""
}

// Every security setting has a value or is in the list above.
func TestEverySettingOfSecurityHasAValue(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t)
	for _, e := range document.Reference(security.Default()) {
		if e.Kind == "mapping" {
			continue
		}
		value := valueName("security." + e.Path)
		found := schema.has(strings.Split(value, "."))
		switch why := noValue(e.Path); {
		case found && why != "":
			t.Errorf("%s is a value, and none: %s", value, why)
		case !found && why == "":
			t.Errorf("security.%s: the chart's schema has no value %s", e.Path, value)
		case found:
			reaches(t, "security."+e.Path, value)
		}
	}
}

// reaches sets a value to something other than its default and checks that the setting at path has
// it.
func reaches(t *testing.T, path, value string) {
	t.Helper()
	want := map[string]any{
		"security.visibility": "private", "security.trust_users": false, "security.proxies.trusted": []string{"10.0.0.0/8"},
		"security.default_task.user": "ml", "security.default_task.group": "ml", "security.authz.type": "rbac", "security.tls": "tls",
		"security.initial_user_password": "Hunter2-one", "security.initial_determined_password": "Hunter2-two",
	}[path]
	if want == nil {
		want = 77
	}
	values := want
	for _, key := range backwards(strings.Split(value, ".")) {
		values = map[string]any{key: values}
	}
	data, err := json.Marshal(map[string]any{"release": map[string]any{"name": "lab", "namespace": "ml"}, "values": values})
	if err != nil {
		t.Fatal(err)
	}
	var d Document
	if err := document.Decode(data, "values.yaml", &d); err != nil {
		t.Errorf("%s: %v", value, err)
		return
	}
	before, after := settingsAt(Document{Release: d.Release}, path), settingsAt(d, path)
	if before == after {
		t.Errorf("%s: got %s of the master as it was: %q", value, path, after)
	}
}

// settingsAt returns all settings of d at and below path.
func settingsAt(d Document, path string) string {
	m := Map(d)
	out := m.Security.InitialUserPassword.Reveal() + m.Security.DeterminedPassword.Reveal()
	for _, s := range document.Settings(m) {
		if strings.HasPrefix(s.Path, path) {
			out += s.Path + "=" + s.Value + "\n"
		}
	}
	return out
}

func backwards(keys []string) []string {
	out := make([]string, 0, len(keys))
	for i := range keys {
		out = append(out, keys[len(keys)-1-i])
	}
	return out
}

type schemaNode struct {
	Properties map[string]schemaNode `json:"properties"`
}

func schemaOf(t *testing.T) schemaNode {
	t.Helper()
	data, err := os.ReadFile("../../../templates/chart/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root schemaNode
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	return root
}

func (n schemaNode) has(path []string) bool {
	if len(path) == 0 {
		return true
	}
	child, found := n.Properties[path[0]]
	return found && child.has(path[1:])
}
