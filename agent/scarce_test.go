package agent

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWhatAMachineLacksForNowIsNoFaultOfTheTask(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("no such image"), false},
		{os.ErrNotExist, false},
		{errUnwanted, false},
		{fmt.Errorf("write order: %w", &os.PathError{Op: "write", Path: "/x", Err: unix.ENOSPC}), true},
		{errors.Join(nil, fmt.Errorf("start the process: %w", unix.EMFILE)), true},
		{unix.EAGAIN, true},
		{unix.ENOMEM, true},
	} {
		if got := isScarce(c.err); got != c.want {
			t.Errorf("%v: got %v, want %v", c.err, got, c.want)
		}
	}
}
