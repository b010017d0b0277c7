package container

import (
	"strings"

	"golang.org/x/sys/unix"
)

// machineErrors maps the last words of the messages of engines and of runc to errors of the
// machine. ENOMEM and EAGAIN only count if a program could not be started, because a task with
// little memory may return them too.
var machineErrors = []struct {
	err   error
	where string
}{
	{unix.ENOSPC, ""},
	{unix.EDQUOT, ""},
	{unix.EMFILE, ""},
	{unix.ENFILE, ""},
	{unix.ENOMEM, "fork/exec "},
	{unix.EAGAIN, "fork/exec "},
}

// MachineError returns the error of the machine that a message of an engine or of runc ends with.
// It returns nil if there is none, so that the task may have caused the message.
func MachineError(message string) error {
	message = strings.TrimSuffix(message, ": unknown") // containerd's suffix for an error without a kind
	for _, m := range machineErrors {
		if strings.Contains(message, m.where) && strings.HasSuffix(message, ": "+m.err.Error()) {
			return m.err
		}
	}
	return nil
}
