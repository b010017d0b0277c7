package container

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// machineErrors maps the last words of the messages of engines and of runc to errors of the
// machine. ENOMEM and EAGAIN only count if a process could not be started, because a task with
// little memory may return them too.
var machineErrors = []struct {
	err    error
	starts bool
}{
	{unix.ENOSPC, false},
	{unix.EDQUOT, false},
	{unix.EMFILE, false},
	{unix.ENFILE, false},
	{unix.ENOMEM, true},
	{unix.EAGAIN, true},
}

// starts are the parts of such a message that are about the start of a process or a thread, by Go's
// library, by runc's first stages, and by the runtimes of their languages.
var starts = []string{"fork/exec ", "unable to spawn stage", "failed to unshare", "failed to clone", "pthread_create"}

// MachineError returns the error of the machine that a message of an engine or of runc ends with, in
// the words of Go or of C. It returns nil if there is none, so that the task may have caused the
// message.
func MachineError(message string) error {
	message = strings.TrimSuffix(message, ": unknown") // containerd's suffix for an error without a kind
	isStart := slices.ContainsFunc(starts, func(part string) bool { return strings.Contains(message, part) })
	for _, m := range machineErrors {
		if (!m.starts || isStart) && endsWith(message, ": "+m.err.Error()) {
			return m.err
		}
	}
	return nil
}

// endsWith ignores case: C's messages begin with a capital letter.
func endsWith(text, end string) bool {
	return len(text) >= len(end) && strings.EqualFold(text[len(text)-len(end):], end)
}
