package shell

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pkg/sftp"

	"github.com/det-deploy/det-deploy/internal/stream"
)

// Scripts of sftp. They need /bin/sh and the tools of coreutils or of busybox. Paths are arguments, and
// absolute; none is a part of a script.
const (
	// absent begins a script that creates $2.
	absent = `if [ -e "$2" ] || [ -h "$2" ]; then echo "exists already" >&2; exit 1; fi; `
	// extend lets the size of file $1 be at least $2.
	extend = `[ "$(stat -L -c %s -- "$1")" -ge "$2" ] || dd of="$1" bs=1 seek="$2" count=0 2>/dev/null || exit 1; `

	setAttributes = `[ -e "$1" ] || { echo "no such file" >&2; exit 1; }
[ -z "$2" ] || chmod "$2" "$1" || exit
[ -z "$3" ] || dd of="$1" bs=1 seek="$3" count=0 2>/dev/null || { echo "cannot set the size" >&2; exit 1; }
[ -z "$4" ] || touch -c -d "$4" "$1" || exit
[ -z "$5" ] || chown "$5" "$1" || exit`

	// readFile writes an empty line as soon as file $1 is open, and then what begins at byte $2, which is counted from 1.
	readFile = `[ ! -d "$1" ] || { echo "is a directory" >&2; exit 1; }
exec 3<"$1" || exit 1
echo
[ "$2" != 1 ] || exec cat <&3
exec tail -c "+$2" <&3`

	// writeFile writes an empty line as soon as file $1 is open, and then writes its input from byte $2 on.
	// $3 has the letter c if the file may be created, x if it must be, and t if it is truncated. $4 is the
	// mode of a new file, which may be empty. Its output stays open: a stream into a pod would end with it.
	writeFile = `[ ! -d "$1" ] || { echo "is a directory" >&2; exit 1; }
new=; [ -e "$1" ] || new=1
case $new$3 in 1*c*|1*x*) ;; 1*) echo "no such file" >&2; exit 1;; esac
case $3 in *x*) set -C; exec 3>"$1";; *t*) exec 3>"$1";; *) exec 3<>"$1";; esac || exit 1
[ -z "$new" ] || [ -z "$4" ] || chmod "$(printf %o "$((0$4 & ~0$(umask)))")" "$1" || exit 1
if [ "$2" != 0 ]; then
` + extend + `
dd bs=1 skip="$2" count=0 <&3 >/dev/null 2>&1 || exit 1
fi
echo
exec cat 4>&1 >&3`

	// listFiles writes a record for each file of directory $1. Names have no "/", so that records end with it.
	listFiles = `[ -e "$1" ] || { echo "no such file" >&2; exit 1; }
[ ! -d "$1" ] || { [ -r "$1" ] && [ -x "$1" ]; } || { echo "permission denied" >&2; exit 1; }
cd -- "$1" || exit 1
form="$2/"
set --
for f in * .*; do
	case $f in .|..) continue;; esac
	[ -e "$f" ] || [ -h "$f" ] || continue
	set -- "$@" "$f"
	[ $# -lt 100 ] || { stat -c "$form" -- "$@"; set --; }
done
[ $# = 0 ] || stat -c "$form" -- "$@"
exit 0`

	// fields is the format of a record for stat.
	fields = `%f %s %u %g %Y %n`
)

const (
	// longestPath is the limit of Linux.
	longestPath = 4096
	// mostAnswer is the maximum size of the output of a script that is kept.
	mostAnswer = 64 << 10
)

// script is one that runs inside the container.
type script struct {
	stream.Process

	stderr chan string
}

func (f *files) start(text string, args ...string) (*script, error) {
	for _, a := range args {
		if len(a) > longestPath || strings.ContainsRune(a, 0) {
			return nil, errors.New("the file name is too long, or has a byte that is zero")
		}
	}
	p, err := f.exec(append([]string{"/bin/sh", "-c", "LC_ALL=C; export LC_ALL; " + text, "sh"}, args...))
	if err != nil {
		return nil, err
	}
	s := &script{p, make(chan string, 1)}
	go func() {
		b, _ := io.ReadAll(io.LimitReader(p.Stderr(), mostAnswer))
		_, _ = io.Copy(io.Discard, p.Stderr())
		s.stderr <- string(b)
	}()
	return s, nil
}

// startOpen starts a script that opens a file, and waits until it has.
func (f *files) startOpen(text string, args ...string) (*script, error) {
	s, err := f.start(text, args...)
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(s.Stdout(), make([]byte, 1)); err != nil {
		if err := s.end(); err != nil {
			return nil, err
		}
		return nil, sftp.ErrSSHFxFailure
	}
	return s, nil
}

// run runs a script and returns its output.
func (f *files) run(text string, args ...string) (string, error) {
	s, err := f.start(text, args...)
	if err != nil {
		return "", err
	}
	_ = s.CloseWrite()
	out, _ := io.ReadAll(io.LimitReader(s.Stdout(), mostAnswer))
	return string(out), s.end()
}

// end waits for the end of the script. Its error is what the script complained about.
func (s *script) end() error {
	_, _ = io.Copy(io.Discard, s.Stdout())
	text := <-s.stderr
	code, err := s.Wait()
	_ = s.Close()
	if err != nil {
		return err
	}
	if code != 0 && text == "" {
		return fmt.Errorf("a program in the container ended with exit code %d", code)
	}
	if code != 0 {
		return refusal(text)
	}
	return nil
}

// abort ends the script.
func (s *script) abort() {
	_ = s.Close()
	_, _ = io.Copy(io.Discard, s.Stdout())
	<-s.stderr
	_, _ = s.Wait()
}

// refusal returns the error of what a tool complained about. Tools tell no more than these words.
func refusal(complaint string) error {
	text := strings.TrimSpace(complaint)
	for end, status := range map[string]error{
		"no such file or directory": sftp.ErrSSHFxNoSuchFile, "no such file": sftp.ErrSSHFxNoSuchFile,
		"nonexistent directory": sftp.ErrSSHFxNoSuchFile, "directory nonexistent": sftp.ErrSSHFxNoSuchFile,
		"permission denied": sftp.ErrSSHFxPermissionDenied, "operation not permitted": sftp.ErrSSHFxPermissionDenied,
		"read-only file system": sftp.ErrSSHFxPermissionDenied,
	} {
		if strings.HasSuffix(strings.ToLower(text), end) {
			return fmt.Errorf("%w: %s", status, text)
		}
	}
	return errors.New(text)
}
