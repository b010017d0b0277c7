package spec_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/task/spec"
)

func TestReadText(t *testing.T) {
	t.Parallel()
	s, err := spec.ReadText("entrypoint: python a.py\nresources:\n  slots: 3\n  is_single_node: false\nenvironment:\n  environment_variables: {A: 1}\n")
	if err != nil {
		t.Fatal(err)
	}
	c, err := spec.Decode(s)
	if err != nil || *c.Resources.Slots != 3 || c.Resources.IsSingleNode == nil || len(c.Environment.Variables.CPU) != 1 || c.Resources.Weight != 1 {
		t.Errorf("got %+v and %v", c, err)
	}
	if _, _, err := spec.Complete(c, container.Default()); err == nil {
		t.Error("is_single_node is valid for every kind of task")
	}
	for text, want := range map[string]string{
		"a: [": "unable to decode the merged config", "entrypont: x": "entrypont", "resources: {slots: x}": "resources.slots",
		strings.Repeat("#", 2<<20): "has 2097152 bytes", "- a": "unable to decode",
		"resources: {devices: [" + strings.Repeat("a,", 30_000) + "]}": "values",
	} {
		if _, err := spec.ReadText(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", text, err, want)
		}
	}
}
