package document_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/internal/document"
)

func TestBlame(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, yaml string
		rules      []string // path, text, path, text ...
		want       []string // paths of the reported problems
	}{
		{"rules alone", "name: a", []string{"name", "is too short"}, []string{"name"}},
		{"an unread value beside a broken rule", "open: perhaps\nvisitors: -1", []string{"visitors", "must not be negative"}, []string{"open", "visitors"}},
		{"the rule of the value that was not read", "visitors: many", []string{"visitors", "must be more than 0"}, []string{"visitors"}},
		{"a rule of what is in it", "address: here", []string{"address.street", "is required"}, []string{"address"}},
		{"a rule of what it is in", "address: {house_number: x}", []string{"address", "is not one that letters reach"}, []string{"address.house_number"}},
		{"a rule of a neighbour that names it", "visitors: many", []string{"price", "must be below visitors"}, []string{"visitors"}},
		{"a rule that has its name inside a longer word", "open: perhaps", []string{"price", "must not reopen"}, []string{"open", "price"}},
		{"an unknown key with nothing near", "colour: red", []string{"visitors", "is required"}, []string{"colour", "visitors"}},
		{"an unknown key that was meant to be the missing one", "visitrs: 1", []string{"visitors", "is required"}, []string{"visitrs"}},
		{"the entry of a list beside another", "animals: [{lives: x}, {lives: -1}]", []string{"animals[1].cat", "is dead"}, []string{"animals[0].lives", "animals[1].cat"}},
		{"entry 1 is not entry 10", "tags: [a, []]", []string{"tags[10]", "is too long"}, []string{"tags[1]", "tags[10]"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := document.Parse([]byte(tc.yaml), "zoo.yaml")
			if err != nil {
				t.Fatal(err)
			}
			var rules document.Errors
			for i := 0; i < len(tc.rules); i += 2 {
				rules.Add(tc.rules[i], "%s", tc.rules[i+1])
			}
			var got []string
			for _, p := range d.Blame(d.Decode(&zoo{}), rules) {
				got = append(got, p.Path)
			}
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Errorf("complaints (-got +want):\n%s", diff)
			}
		})
	}
}
