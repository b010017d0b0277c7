package config_test

import (
	"bytes"
	"testing"

	"github.com/det-deploy/det-deploy/agent/config"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/test/golden"
)

const page = "../../docs/reference/agent-yaml.md"

func TestReferencePageIsFresh(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := document.WriteReference(&b, "agent.yaml", document.Reference(config.DefaultAgent()), config.Overrides()); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, page, b.String())
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
