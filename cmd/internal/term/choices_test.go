package term

import (
	"context"
	"errors"
	"testing"
)

// Choices are found by what is known about them, in any case.
func TestChoicesAreFoundByDescription(t *testing.T) {
	t.Parallel()
	all := []Choice{
		{Value: "p4d.24xlarge", About: "96 vCPU, 1152 GB, 8 x A100", Words: "A100 40 GB"},
		{Value: "p4de.24xlarge", About: "96 vCPU, 1152 GB, 8 x A100", Words: "A100 80 GB"},
		{Value: "g5.xlarge", About: "4 vCPU, 16 GB, 1 x A10G", Words: "A10G 24 GB"},
	}
	for part, want := range map[string]int{"a100": 2, "80 gb": 1, "p4d.": 1, "24": 3, "h100": 0} {
		if got := choicesWith(all, part); len(got) != want {
			t.Errorf("%q: got %v, want %d", part, got, want)
		}
	}
}

func TestStoppedFormChangesNothing(t *testing.T) {
	t.Parallel()
	m := asked()
	m.interrupt()
	e, ok := errors.AsType[*answerError](m.err)
	if !ok || !errors.Is(m.err, context.Canceled) || !e.Unanswered() {
		t.Errorf("got %v, want an unanswered question", m.err)
	}
}
