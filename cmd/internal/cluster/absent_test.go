package cluster

import (
	"strings"
	"testing"
)

func TestBeginningOfIDs(t *testing.T) {
	t.Parallel()
	have := []Existing{{"lab", "eu"}, {"lab-vision", "eu"}, {"lab-speech", "us"}, {"prod", ""}}
	for _, tt := range []struct{ text, want, wrong string }{
		{"lab-v", "lab-vision", ""},
		{"lab-", "", `"lab-" stands for several clusters; nothing was done: lab-vision in eu, lab-speech in us`},
		{"pro", "", ""},
		{"prod", "", ""},
		{"test-1", "", ""},
	} {
		got, one, err := Beginning(tt.text, have)
		if tt.wrong != "" {
			if err == nil || err.Error() != tt.wrong {
				t.Errorf("%s: got %v, want %s", tt.text, err, tt.wrong)
			}
			continue
		}
		if err != nil || got.ID != tt.want || one != (tt.want != "") {
			t.Errorf("%s: got %v %t %v, want %q", tt.text, got, one, err, tt.want)
		}
	}
}

func TestAbsentErrorNamesOthers(t *testing.T) {
	t.Parallel()
	many := make([]Existing, 25)
	for i := range many {
		many[i].ID = "cluster-" + string(rune('a'+i))
	}
	for _, tt := range []struct {
		err  AbsentError
		want string
	}{
		{AbsentError{Cluster: "lba", Have: []Existing{{"lab", "eu-west-1"}}}, "no cluster lba here (have: lab in eu-west-1), did you mean lab?"},
		{AbsentError{Cluster: "lab", Have: []Existing{{"lab", "eu-west-1"}}}, "no cluster lab here (have: lab in eu-west-1)"},
		{AbsentError{Cluster: "quite-another", Have: []Existing{{"lab", ""}}}, "no cluster quite-another here (have: lab)"},
		{AbsentError{Cluster: "lab", None: "there is none"}, "no cluster lab here (there is none)"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	if got := (&AbsentError{Cluster: "x", Have: many}).Error(); !strings.HasSuffix(got, "cluster-t, 5 more)") {
		t.Errorf("got %q, want an end", got)
	}
}
