package process

import (
	"errors"
	"slices"
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
		"nsexec-1[7]: failed to unshare remaining namespaces (except cgroupns): No space left on device":         unix.ENOSPC,
		"nsexec-0[7]: unable to spawn stage-1: Resource temporarily unavailable":                                 unix.EAGAIN,
		"nsexec-1[7]: unable to spawn stage-2: Cannot allocate memory":                                           unix.ENOMEM,
		"unable to start init: fork/exec /proc/self/exe: resource temporarily unavailable":                       unix.EAGAIN,
		"error during container init: cannot allocate memory":                                                    nil, // the task's limit may be too small
	} {
		if got := machineError([]string{message, "can't get final child's PID from pipe: EOF"}); !errors.Is(got, want) {
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

func TestFatalErrorsOfRuncAreRead(t *testing.T) {
	t.Parallel()
	log := `{"level":"debug","msg":"nsexec started"}
{"level":"fatal","msg":"nsexec-0[7]: unable to spawn stage-1: Resource temporarily unavailable"}
{"level":"error","msg":"runc run failed: can't get final child's PID from pipe: EOF"}
`
	want := []string{"nsexec-0[7]: unable to spawn stage-1: Resource temporarily unavailable", "can't get final child's PID from pipe: EOF"}
	if got := loggedErrors([]byte(log)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
