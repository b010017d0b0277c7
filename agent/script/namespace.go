package script

import (
	"os"
	"os/exec"
)

// initMounts is the mount namespace of the machine's init process.
const initMounts = "/proc/1/ns/mnt"

// onMachine wraps a command so that it runs in the machine's mount namespace. The agent's systemd
// unit has its own, whose mounts would be invisible to containers and disappear with the agent.
func onMachine(argv []string) []string {
	enter, err := exec.LookPath("nsenter")
	if err != nil || !inUnit() {
		return argv
	}
	return append([]string{enter, "--mount=" + initMounts, "--root=/proc/1/root", "--"}, argv...)
}

// inUnit reports whether this process has the machine's root in a separate mount namespace. It
// returns false in a container, which has another root, and in a user's session, which may not
// enter the namespace.
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
