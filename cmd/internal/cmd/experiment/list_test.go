package experiment

import (
	"slices"
	"testing"
)

// Every word selects the states that lists show by it.
func TestStatesOfWords(t *testing.T) {
	t.Parallel()
	for word, want := range map[string][]string{
		"queued":        {"QUEUED"},
		"running":       {"RUNNING", "STOPPING_CANCELED", "STOPPING_COMPLETED", "STOPPING_ERROR", "STOPPING_KILLED"},
		"succeeded":     {"COMPLETED"},
		"failed":        {"ERROR"},
		"killed":        {"CANCELED"},
		"delete_failed": {"DELETE_FAILED"},
	} {
		if got := statesOf(word); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	for _, word := range words() {
		if len(statesOf(word)) == 0 {
			t.Errorf("%s selects no state", word)
		}
	}
}
