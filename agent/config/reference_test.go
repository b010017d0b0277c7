package config_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/document"
)

var update = flag.Bool("update", false, "rewrite the reference page")

const page = "../../docs/reference/agent-yaml.md"

func TestReferencePageIsFresh(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := document.WriteReference(&b, "agent.yaml", document.Reference(config.DefaultAgent()), config.Overrides()); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(want)); diff != "" {
		t.Errorf("the page is stale; run the test with -update (-generated +page):\n%s", diff)
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, e := range document.Reference(config.DefaultAgent()) {
		keys[e.Path] = true
		if e.Doc == "" {
			t.Errorf("%s has no doc tag", e.Path)
		}
	}
	for _, o := range config.Overrides() {
		if !keys[o.Path] {
			t.Errorf("--%s sets %s, which is no key", o.Flag, o.Path)
		}
		if o.Usage == "" {
			t.Errorf("--%s has no usage", o.Flag)
		}
	}
}
