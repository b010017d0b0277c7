package chart_test

import (
	"bufio"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config/helm"
)

// schemaKeys returns all values that the schema allows or rejects with a message.
func schemaKeys(t *testing.T) []string {
	t.Helper()
	var root node
	if err := json.Unmarshal([]byte(read(t, "../../templates/chart/values.schema.json")), &root); err != nil {
		t.Fatal(err)
	}
	var keys []string
	root.walk("", &keys)
	slices.Sort(keys)
	return keys
}

type node struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Ref        string                     `json:"$ref"`
}

func (n node) walk(path string, keys *[]string) {
	for key, raw := range n.Properties {
		at := document.Join(path, key)
		*keys = append(*keys, at)
		var child node
		if json.Unmarshal(raw, &child) == nil {
			child.walk(at, keys)
		}
	}
}

// raw reports whether a key is used by the chart only, or is written as in master.yaml.
func raw(key string) bool {
	for _, top := range []string{"image", "masterService", "ingress", "openshiftRoute", "networkPolicy", "master", "serviceAccount", "serviceMonitor", "rbac", "coscheduler", "resourcePools", "logging", "global"} {
		if strings.HasPrefix(key, top+".") {
			return true
		}
	}
	return false
}

func TestMasterReadsExactlyTheSchema(t *testing.T) {
	t.Parallel()
	var known []string
	for _, e := range document.Reference(helm.Document{}) {
		key, ok := strings.CutPrefix(e.Path, "values.")
		if !ok || strings.ContainsAny(key, "[(<") || raw(key) || strings.HasSuffix(key, "ExistingSecret.name") || strings.HasSuffix(key, "ExistingSecret.key") {
			continue
		}
		known = append(known, key)
	}
	slices.Sort(known)
	var wanted []string
	for _, key := range schemaKeys(t) {
		if !raw(key) {
			wanted = append(wanted, key)
		}
	}
	for _, key := range wanted {
		if !slices.Contains(known, key) {
			t.Errorf("the schema has %s, and the master does not read it", key)
		}
	}
	for _, key := range known {
		if !slices.Contains(wanted, key) {
			t.Errorf("the master reads %s, and the schema does not have it", key)
		}
	}
}

// values.yaml is the reference: it contains each value, as a default or commented out, except those
// that the schema only rejects, or that have no effect.
func TestValuesYAMLHasEveryValueOfTheSchema(t *testing.T) {
	t.Parallel()
	text := read(t, "../../templates/chart/values.yaml")
	refused := []string{"oidc", "scim", "saml", "genai", "fluent", "additional_resource_managers", "global", "security.token", "retentionPolicy.schedule", "taskContainerDefaults.checkpointGcPodSpec", "resourceManager.internalTaskGateway", "defaultImages.kubeSchedulerPreemption", "logging.host", "logging.port", "logging.security"}
	key := regexp.MustCompile(`^\s*(?:# )?([A-Za-z_]+):`)
	var named []string
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if m := key.FindStringSubmatch(lines.Text()); m != nil {
			named = append(named, m[1])
		}
	}
	var inline map[string]any
	if err := yaml.Unmarshal([]byte(text), &inline); err != nil {
		t.Fatal(err)
	}
	for _, path := range schemaKeys(t) {
		last := path[strings.LastIndexByte(path, '.')+1:]
		if slices.Contains(refused, path) || slices.Contains(named, last) || regexp.MustCompile(`\b`+last+`:`).MatchString(text) {
			continue
		}
		t.Errorf("values.yaml says nothing of %s", path)
	}
}
