package contexts_test

import (
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
)

func TestPreviousContextComesBack(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ steps, want string }{
		"the only one":                   {"+a -a", ""},
		"the one before":                 {"+a +b -b", "a"},
		"the one before, after a repeat": {"+a +b +b -b", "a"},
		"another is current":             {"+a +b =a -b", "a"},
		"the one before is gone":         {"+a +b +c -b -c", "a"},
		"all before are gone":            {"+a +b -a -b", ""},
		"each before the other":          {"+a +b +a -a", "b"},
		"one of a circle":                {"+a +b +a -b -a", ""},
	} {
		b := &contexts.Book{}
		for _, step := range strings.Fields(tc.steps) {
			switch id := step[1:]; step[0] {
			case '+':
				c, _ := b.Get(id)
				c.Name = id
				b.Activate(c)
			case '=':
				b.Current = id
			default:
				b.Drop(id)
			}
		}
		if b.Current != tc.want {
			t.Errorf("%s (%s): got %q, want %q", name, tc.steps, b.Current, tc.want)
		}
	}
}

func TestOverridden(t *testing.T) {
	t.Parallel()
	b := &contexts.Book{Contexts: []contexts.Context{{Name: "lab", Master: "http://lab:8080"}, {Name: "far", Master: "https://far:8443"}}}
	for name, tc := range map[string]struct {
		variable string
		want     bool
	}{
		"not set":                  {"", false},
		"the same, by name":        {"lab", false},
		"the same, by address":     {"lab:8080", false},
		"another":                  {"far", true},
		"an unknown address":       {"http://new:1", true},
		"something unintelligible": {"ftp://lab", true},
	} {
		text := b.Overridden(func(string) string { return tc.variable }, "lab")
		if (text != "") != tc.want || tc.want && !strings.Contains(text, "DET_MASTER="+tc.variable) {
			t.Errorf("%s: got %q", name, text)
		}
	}
}
