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

// A task of an agent that was started with few files still runs: a shell alone needs a dozen.
func TestFilesLimitOfATask(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ soft, hard, want uint64 }{
		{soft: 10, hard: 4096, want: 1024},
		{soft: 2048, hard: 4096, want: 2048},
		{soft: 10, hard: 16, want: 16},
	} {
		if got := filesLimit(tt.soft, tt.hard); got.Soft != tt.want || got.Hard != tt.hard {
			t.Errorf("%d of %d: got %d of %d, want %d of %d", tt.soft, tt.hard, got.Soft, got.Hard, tt.want, tt.hard)
		}
	}
}
