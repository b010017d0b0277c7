package spec_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// elsewhere returns the reason why a security setting of master.yaml is not under cluster.yaml's
// security, or "".
func elsewhere(path string) string {
	for prefix, why := range map[string]string{
		"tls":                         "tls is a section of its own",
		"initial_user_password":       "initial_password",
		"initial_determined_password": "a key of its own",
		"allow_blank_password":        "there is a password always",
		"allow_plain_http":            "the master has a certificate always",
		"ssh":                         "not built yet",
		"token":                       "not built yet",
		"authz":                       "not built yet",
	} {
		if path == prefix || strings.HasPrefix(path, prefix+".") {
			return why
		}
	}
	return ""
}

// Every security setting is in cluster.yaml or in the list above.
func TestEverySettingOfSecurityIsInClusterYAML(t *testing.T) {
	t.Parallel()
	keys := map[string]document.Entry{}
	for _, e := range platforms()[0].keys {
		keys[e.Path] = e
	}
	for _, e := range document.Reference(security.Default()) {
		there, found := keys["security."+e.Path]
		switch why := elsewhere(e.Path); {
		case found && why != "":
			t.Errorf("security.%s is a key of cluster.yaml, and elsewhere: %s", e.Path, why)
		case !found && why == "":
			t.Errorf("security.%s of master.yaml cannot be set in cluster.yaml", e.Path)
		case found && (there.Kind != e.Kind || there.Default != e.Default):
			t.Errorf("security.%s: got %s with default %q, want %s with %q as in master.yaml", e.Path, there.Kind, there.Default, e.Kind, e.Default)
		}
	}
}

// Every key of cluster.yaml's security reaches the master.
func TestSecurityOfClusterYAMLIsTheMasters(t *testing.T) {
	t.Parallel()
	for _, s := range document.Settings(spec.DefaultSecurity()) {
		value := map[string]string{"visibility": "private", "trust_users": "false", "default_task.user": "ml", "default_task.group": "ml"}[s.Path]
		if value == "" {
			value = "268435457" // above every minimum
		}
		if s.Path == "audit.retention_days" {
			value = "77"
		}
		d := document.New("none")
		if p := d.Apply([]document.Given{{Path: s.Path, Value: value, Source: "test"}}); len(p) > 0 {
			t.Errorf("%s: %v", s.Path, p)
		}
		given := spec.DefaultSecurity()
		if p := d.Decode(&given); len(p) > 0 {
			t.Errorf("%s: %v", s.Path, p)
		}
		if p := given.Validate("security"); len(p) > 0 {
			t.Errorf("%s: %v", s.Path, p)
		}
		for _, got := range document.Settings(given.Over(security.Default())) {
			if got.Path == s.Path && got.Value != value {
				t.Errorf("%s: got %s in master.yaml, want %s", s.Path, got.Value, value)
			}
		}
	}
	given := spec.DefaultSecurity()
	given.Proxies.Trusted = []string{"10.0.0.0/8"}
	if got := given.Over(security.Default()).Proxies.Trusted; len(got) != 1 {
		t.Errorf("got %v, want the trusted network", got)
	}
}
