package process

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// A lack of the machine is not the task's failure, although runc reports it as text.
func TestMachineErrorOfRunc(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]error{
		"unable to start container process: error during container init: unable to store init state: %!w(<nil>)": unix.ENOSPC,
		"unable to start container process: error during container init: write /x: no space left on device":      unix.ENOSPC,
		"open /proc/self/fd: too many open files":                                                                unix.EMFILE,
		`exec: "train": executable file not found in $PATH`:                                                      nil,
	} {
		if got := machineError(message); !errors.Is(got, want) {
			t.Errorf("%s: got %v, want %v", message, got, want)
		}
	}
}
