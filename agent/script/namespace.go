package script

import (
	"os"
	"os/exec"
)

// initMounts is the mount namespace of the machine's first process.
const initMounts = "/proc/1/ns/mnt"

// onMachine has a command run in the mount namespace of the machine. An agent's unit has
// one of its own, and what a script mounts there would be seen neither by containers nor
// after the agent's end.
func onMachine(argv []string) []string {
	enter, err := exec.LookPath("nsenter")
	if err != nil || !inUnit() {
		return argv
	}
	return append([]string{enter, "--mount=" + initMounts, "--root=/proc/1/root", "--"}, argv...)
}

// inUnit reports whether this process sees the machine's root in a mount namespace of its
// own. In a container the root is another, and in a user's session nothing may be entered.
func inUnit() bool {
	own, err1 := os.Readlink("/proc/self/ns/mnt")
	first, err2 := os.Readlink(initMounts)
	if err1 != nil || err2 != nil || own == first {
		return false
	}
	here, err1 := os.Stat("/")
	there, err2 := os.Stat("/proc/1/root/")
	return err1 == nil && err2 == nil && os.SameFile(here, there)
}
