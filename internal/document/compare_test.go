package document_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/internal/document"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	type doc struct {
		Port  int               `yaml:"port"`
		Name  string            `yaml:"name"`
		Zones []string          `yaml:"zones"`
		Tags  map[string]string `yaml:"tags"`
	}
	have := doc{Port: 1, Name: "same", Zones: []string{"a", "b"}, Tags: map[string]string{"old": "x"}}
	want := doc{Port: 2, Name: "same", Zones: []string{"a"}, Tags: map[string]string{"new": strings.Repeat("y", 1000)}}
	got := document.Compare(&have, &want)
	for i := range got {
		if len(got[i].Want) > 200 {
			got[i].Want = "shortened to " + got[i].Want
		}
		got[i].Want, _, _ = strings.Cut(got[i].Want, "yy")
	}
	if d := cmp.Diff(got, []document.Difference{
		{Path: "port", Have: "1", Want: "2"},
		{Path: "tags.new"},
		{Path: "zones[1]", Have: "b"},
		{Path: "tags.old", Have: "x"},
	}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	if same := document.Compare(&want, &want); len(same) > 0 {
		t.Errorf("got %v, want no difference", same)
	}
}
