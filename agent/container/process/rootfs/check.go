package rootfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Check tries whether an agent that is not root can show a task a place that the machine
// does not have. The error says why it cannot, and what to change.
func Check(place string) error {
	dir, err := os.MkdirTemp("", "det-deploy-check-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is empty, and nothing depends on it
	if err := tryPlace(dir, place); err != nil {
		return &refusedError{why: err, fix: findFix(readSetting)}
	}
	return nil
}

func tryPlace(dir, place string) error {
	stage, source := filepath.Join(dir, "stage"), filepath.Join(dir, "source")
	if err := errors.Join(os.Mkdir(stage, 0o700), os.Mkdir(source, 0o700)); err != nil {
		return err
	}
	out, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	said := int(out.Fd())
	p := Program{Argv: []string{"/bin/sh", "-c", `: >"$1/tried"`, "sh", place}, Files: []int{int(null.Fd()), said, said}}
	t := Tree{Places: []Place{{Path: place, Source: source}}, Stage: stage, UID: os.Geteuid(), GID: os.Getegid()}
	pid, err := t.Fork(p)
	if pid != 0 {
		_, werr := unix.Wait4(pid, nil, 0, nil)
		err = errors.Join(err, werr)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(source, "tried")); err != nil {
		said, _ := os.ReadFile(out.Name())
		return fmt.Errorf("a program cannot write in %s: %s", place, bytes.TrimSpace(said))
	}
	return nil
}

// refusedError is a kernel that does not let users make namespaces.
type refusedError struct {
	why error
	fix string
}

func (e *refusedError) Error() string {
	return "this machine does not let ordinary users make mount namespaces: " + e.why.Error() + " (" + e.fix + ")"
}

// Unwrap gives the kernel's reason.
func (e *refusedError) Unwrap() error { return e.why }

// settings are what keeps users from making namespaces, each with the value that does,
// and the one that does not.
var settings = []struct{ name, refuses, allows string }{
	{"user.max_user_namespaces", "0", "15000"},
	{"user.max_mnt_namespaces", "0", "15000"},
	{"kernel.unprivileged_userns_clone", "0", "1"},
	{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"},
}

// findFix says what to change. Read returns a setting of the kernel, or nothing.
func findFix(read func(name string) string) string {
	var fixes []string
	for _, s := range settings {
		if read(s.name) == s.refuses {
			fixes = append(fixes, "sysctl -w "+s.name+"="+s.allows)
		}
	}
	if len(fixes) == 0 {
		return "run the agent as root, and in a container with --cap-add SYS_ADMIN; " +
			"or set user.max_user_namespaces above 0 and, where they exist, kernel.unprivileged_userns_clone=1 " +
			"and kernel.apparmor_restrict_unprivileged_userns=0"
	}
	return "run `" + strings.Join(fixes, "` and `") + "` as root, or run the agent as root"
}

func readSetting(name string) string {
	value, _ := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	return string(bytes.TrimSpace(value))
}
