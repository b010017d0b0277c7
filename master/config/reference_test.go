package config_test

import (
	"bytes"
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/test/golden"
)

const page = "../../docs/reference/master-yaml.md"

func TestReferencePageIsUpToDate(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := document.WriteReference(&b, "master.yaml", document.Reference(config.DefaultMaster()), config.Overrides()); err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, page, b.String())
}

func TestEveryKeyIsDescribed(t *testing.T) {
	t.Parallel()
	keys := map[string]bool{}
	for _, e := range document.Reference(config.DefaultMaster()) {
		keys[e.Path] = true
		if e.Doc == "" {
			t.Errorf("%s has no doc tag", e.Path)
		}
	}
	hidden := map[string]bool{"security.tls.cert": true, "security.tls.key": true} // inside a value with several forms
	for _, o := range config.Overrides() {
		if !keys[o.Path] && !hidden[o.Path] {
			t.Errorf("--%s sets %s, which is no key", o.Flag, o.Path)
		}
		if o.Usage == "" {
			t.Errorf("--%s has no usage", o.Flag)
		}
	}
}
