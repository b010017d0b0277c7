package process

import (
	"os"
	"strings"

	"al.essio.dev/pkg/shellescape"
	"golang.org/x/sys/unix"
)

// programFile is an unnamed file with a script that becomes the program: its
// variables, which hold the tokens of the task and of its owner, never stand in a file
// of the disk or in the environment of a shell that is root. The one that the client's
// library wants in a file is the task's, which ends with it.
func programFile(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("det-deploy-task", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "program")
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func programText(env []string, dir string, argv []string) string {
	var b strings.Builder
	var others []string
	for _, e := range env {
		key, value, _ := strings.Cut(e, "=")
		if !isSettable(key) {
			others = append(others, e)
			continue
		}
		b.WriteString("export " + key + "=" + shellescape.Quote(value) + "\n")
	}
	b.WriteString("cd -- " + shellescape.Quote(dir) + " || exit 126\nexec")
	if len(others) > 0 {
		argv = append(append([]string{"env", "--"}, others...), argv...)
	}
	for _, a := range argv {
		b.WriteString(" " + shellescape.Quote(a))
	}
	b.WriteString(" 4<&- 5<&-\n")
	return b.String()
}

// isSettable says whether every shell takes this for the name of a variable that may
// be set.
func isSettable(key string) bool {
	switch key {
	case "PPID", "UID", "EUID", "SHELLOPTS", "BASHOPTS", "":
		return false
	}
	for i, c := range []byte(key) {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}
