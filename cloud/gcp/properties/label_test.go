package properties_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
)

func TestIsLabel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ key, value bool }{
		"":                        {false, true},
		"team":                    {true, true},
		"a-b_9":                   {true, true},
		"9a":                      {false, true},
		"-a":                      {false, true},
		"Team":                    {false, false},
		"a b":                     {false, false},
		"a\n":                     {false, false},
		"a.b":                     {false, false},
		"größe":                   {true, true},
		"Größe":                   {false, false},
		"日本":                      {true, true},
		"a٣":                      {true, true},
		"a\xff":                   {false, false},
		strings.Repeat("é", 63):   {true, true},
		strings.Repeat("é", 64):   {false, false},
		strings.Repeat("a", 1000): {false, false},
	} {
		if got := properties.IsLabelKey(text); got != want.key {
			t.Errorf("%q as a key: got %t", text, got)
		}
		if got := properties.IsLabelValue(text); got != want.value {
			t.Errorf("%q as a value: got %t", text, got)
		}
	}
}
