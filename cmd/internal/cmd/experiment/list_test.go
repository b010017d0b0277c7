package experiment

import (
	"slices"
	"testing"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// Every word selects the states that lists show by it.
func TestStatesOfWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[apiv1.Status][]string{
		"queued":        {"QUEUED"},
		"running":       {"RUNNING", "STOPPING_CANCELED", "STOPPING_COMPLETED", "STOPPING_ERROR", "STOPPING_KILLED"},
		"succeeded":     {"COMPLETED"},
		"failed":        {"ERROR"},
		"killed":        {"CANCELED"},
		"delete_failed": {"DELETE_FAILED"},
	} {
		if got := apiv1.StatesOf(word); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	for _, word := range words() {
		if len(apiv1.StatesOf(apiv1.Status(word))) == 0 {
			t.Errorf("%s selects no state", word)
		}
	}
}
