package command_test

import (
	"errors"
	"testing"

	"github.com/det-deploy/det-deploy/cmd/internal/command"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

func TestReadNumberRejectsInvalidIDs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "0", "-1", "seven", "1.5", "2147483648"} {
		n, err := command.ReadNumber("trial", text)
		if _, ok := errors.AsType[*usage.Error](err); !ok || n != 0 {
			t.Errorf("%q: got %d, %v, want a usage error", text, n, err)
		}
	}
	if n, err := command.ReadNumber("trial", "2147483647"); err != nil || n != 2147483647 {
		t.Errorf("got %d, %v", n, err)
	}
}
