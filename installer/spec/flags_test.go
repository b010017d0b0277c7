package spec_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/installer/spec"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/test/golden"
)

// platform is the cluster.yaml of a cloud with the docs page that lists its keys.
type platform struct {
	name, page string
	flags      spec.Table
	keys       []document.Entry
}

func platforms() []platform {
	return []platform{
		{"aws", "../../docs/reference/cluster-yaml.md", spec.AWSFlags(), document.Reference(spec.DefaultAWS())},
		{"gcp", "../../docs/reference/cluster-yaml-gcp.md", spec.GCPFlags(), document.Reference(spec.DefaultGCP())},
	}
}

func TestReferencePageIsUpToDate(t *testing.T) {
	t.Parallel()
	for _, p := range platforms() {
		var b bytes.Buffer
		if err := document.WriteReference(&b, "cluster.yaml", p.keys, inReference(p.flags.Overrides())); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, p.page, b.String())
	}
}

// inReference converts paths to the form of the reference.
func inReference(overrides []document.Override) []document.Override {
	for i, o := range overrides {
		path := strings.Replace(o.Path, "pools.*", "pools.<name>", 1)
		if rest, ok := strings.CutPrefix(path, "scheduler."); ok && rest != "type" {
			path = "scheduler(priority)." + rest
		}
		overrides[i].Path = path
	}
	return overrides
}

// fileOnly returns the reason why a setting has no flag, or "".
func fileOnly(path string) string {
	for prefix, why := range map[string]string{
		"cluster_id":    "--cluster-id belongs to every command",
		"platform":      "the command says it",
		"pools":         "flags are about one pool",
		"pools.<name>":  "rarely changed settings are set in the file",
		"aux_pool":      "rarely changed settings are set in the file",
		"scheduler":     "rarely changed settings are set in the file",
		"task_policy":   "rarely changed settings are set in the file",
		"security":      "rarely changed settings are set in the file",
		"storage.save_": "rarely changed settings are set in the file",
	} {
		if path == prefix || strings.HasPrefix(path, prefix+".") || strings.HasPrefix(path, prefix+"(") || strings.HasSuffix(prefix, "_") && strings.HasPrefix(path, prefix) {
			return why
		}
	}
	return ""
}

func TestEveryKeyIsDescribedAndHasAFlag(t *testing.T) {
	t.Parallel()
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			checkKeysAndFlags(t, p)
		})
	}
}

func checkKeysAndFlags(t *testing.T, p platform) {
	t.Helper()
	flags, keys := map[string]bool{}, map[string]bool{}
	for _, o := range inReference(p.flags.Overrides()) {
		flags[o.Path] = true
	}
	for _, e := range p.keys {
		keys[e.Path] = true
		if e.Doc == "" {
			t.Errorf("%s has no doc tag", e.Path)
		}
		if e.Kind != "mapping" && !flags[e.Path] && fileOnly(e.Path) == "" {
			t.Errorf("%s has no flag", e.Path)
		}
	}
	seen := map[string]bool{}
	for _, o := range inReference(p.flags.Overrides()) {
		if !keys[o.Path] && o.Path != "scheduler.type" {
			t.Errorf("--%s sets %s, which is no key", o.Flag, o.Path)
		}
		if o.Usage == "" || o.Env == "" {
			t.Errorf("--%s has no usage or no variable", o.Flag)
		}
		if seen[o.Flag] {
			t.Errorf("--%s is there twice", o.Flag)
		}
		seen[o.Flag] = true
	}
}
