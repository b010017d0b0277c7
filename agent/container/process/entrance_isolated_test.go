package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
	"github.com/det-deploy/det-deploy/internal/stream"
)

// entered runs a script in a running task.
func entered(t *testing.T, r *Runtime, id, script string, terminal *stream.Size) (said string, code int) {
	t.Helper()
	p, err := r.Exec(t.Context(), id, stream.Program{Argv: []string{"sh", "-c", script}, Terminal: terminal})
	if err != nil {
		t.Fatal(err)
	}
	errors := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(p.Stderr())
		errors <- string(data)
	}()
	out, _ := io.ReadAll(p.Stdout())
	if code, err = p.Wait(); err != nil {
		t.Fatalf("%v after %q", err, out)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	return string(out) + <-errors, code
}

// Each entry is an attempt of a program that has entered a task, and must fail.
func TestIsolatedTasksAreEnteredWithoutRights(t *testing.T) {
	t.Parallel()
	r := isolating(t)

	for _, id := range []string{"home", "victim"} {
		spec := script(id, "echo secret >$HOME/file; sleep 600")
		spec.Env = []string{"DET_SESSION_TOKEN=token-of-" + id}
		if err := start(t, r, spec); err != nil {
			t.Fatal(err)
		}
	}
	host, err := r.containerDir("victim").awaitPID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := string(r.containerDir("victim"))
	for _, attempt := range []string{
		"env | grep -a secret-of",
		"cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -aE 'secret-of|token-of-victim'",
		fmt.Sprintf("cat /proc/%d/environ", host),
		fmt.Sprintf("kill -0 %d", host),
		"cat " + d + "/root/file",
		"cat " + string(r.containerDir("home")) + "/config.json",
		"ls " + r.opts.Dir + "/*",
		"cat /etc/shadow",
		"id -u | grep -x 0",
		"id -G | grep -wE '0|6'",
		"grep -E '^Cap[A-Z][a-z]*:.*[1-9a-f]' /proc/self/status",
		"grep -E '^NoNewPrivs:.*0' /proc/self/status",
		"su -c true root </dev/null",
		"ls /proc/self/fd | grep -vE '^(0|1|2|3)$'",
		"readlink /proc/self/fd/3 | grep -v /fd",
		"test -e /proc/self/fd/4",
		"mount -t tmpfs none /tmp",
		"umount -l /proc",
		"nsenter -t 1 -m true",
		"ls /proc | grep -x " + strconv.Itoa(os.Getpid()),
		"kill -9 1; ! kill -0 1",
		"echo 0 >>/proc/1/fd/3",
		`for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline 2>/dev/null | grep -a '^runc' && cat $p/environ; done`,
	} {
		t.Run(attempt, func(t *testing.T) {
			for _, terminal := range []*stream.Size{nil, {Columns: 80, Rows: 24}} {
				said, code := entered(t, r, "home", attempt, terminal)
				if code == 0 {
					t.Errorf("terminal %v: it succeeds, and says %q", terminal, said)
				}
				if strings.Contains(said, "secret") && !strings.Contains(said, "such file") {
					t.Errorf("it learns %q", said)
				}
			}
		})
	}
	if said, code := entered(t, r, "home", `test "$DET_SESSION_TOKEN" = token-of-home && test "$(id -u)" = "$(stat -c %u /proc/1)"`, nil); code != 0 {
		t.Errorf("got code %d and %q, want the task's own variables and user", code, said)
	}
	if left, err := filepath.Glob(filepath.Join(string(r.containerDir("home")), "entered-*")); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v left", left, err)
	}
}

// A task replaces its work directory and its programs before somebody enters it.
func TestIsolatedTasksDoNotLeadWhoEntersAstray(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	for id, text := range map[string]string{
		"removed": `cd /; rm -rf /run/determined/workdir`,
		"link":    `cd /; rm -rf /run/determined/workdir; ln -s /proc/self/fd/7 /run/determined/workdir`,
		"up":      `cd /; rm -rf /run/determined/workdir; ln -s / /run/determined/workdir`,
	} {
		if err := start(t, r, script(id, text+" && touch $HOME/ready; sleep 600")); err != nil {
			t.Fatal(err)
		}
		eventually(t, id+" is ready", func() bool {
			_, err := os.Stat(r.containerDir(id).filePath("root/ready"))
			return err == nil
		})
		said, code := entered(t, r, id, "pwd -P; ls -d "+r.opts.Dir+"/* ../.. 2>/dev/null; id -u", nil)
		uid, _ := r.containerDir(id).isolatedUser()
		if code != 0 || !strings.HasSuffix(said, "\n"+strconv.Itoa(uid)+"\n") && !strings.Contains(said, "\n"+strconv.Itoa(uid)+"\n") ||
			strings.Contains(said, string(r.containerDir(id))) {
			t.Errorf("%s: got code %d and %q, want user %d", id, code, said, uid)
		}
	}
}

// Files are read and written with the task's rights, wherever its links lead.
func TestLinksOfIsolatedTasksLeadToNothingOfOthers(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	victim := script("other", "echo secret >$HOME/file; sleep 600")
	if err := start(t, r, victim); err != nil {
		t.Fatal(err)
	}
	theirs := r.containerDir("other").filePath("root")
	if err := start(t, r, script("linker", "ln -s "+theirs+" $HOME/out; ln -s /etc/shadow $HOME/shadow; ln -s /etc $HOME/etc; touch $HOME/ready; sleep 600")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both have their files", func() bool {
		_, err := os.Stat(r.containerDir("linker").filePath("root/ready"))
		_, other := os.Stat(filepath.Join(theirs, "file"))
		return errors.Join(err, other) == nil
	})
	for _, path := range []string{"/run/det-deploy-task/out/file", "/run/det-deploy-task/out/", "/etc/shadow", theirs + "/file", "/run/det-deploy-task/shadow/."} {
		archive, err := r.ReadFiles(t.Context(), "linker", path)
		if err == nil {
			data, _ := io.ReadAll(archive)
			err = archive.Close()
			if strings.Contains(string(data), "secret") || strings.Contains(string(data), "root:") {
				t.Errorf("%s: it is read: %q, %v", path, data, err)
			}
		}
	}
	for _, dir := range []string{"/run/det-deploy-task/out", "/run/det-deploy-task/etc", "/etc", "/root", theirs} {
		if err := r.WriteFiles(t.Context(), "linker", dir, strings.NewReader(strings.Repeat("\x00", 1024))); err == nil {
			t.Errorf("%s: it is written", dir)
		}
	}
}

// The user of a task without isolation may change the status file with a debugger.
func TestAForgedProcessIsNotEntered(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("an agent that is not root has nothing that its tasks lack")
	}
	r := newPlain(t)
	spec := script("forger", "sleep 600")
	spec.User = &container.User{UID: 1234, GID: 1234}
	if err := start(t, r, spec); err != nil {
		t.Fatal(err)
	}
	d := r.containerDir("forger")
	if _, err := d.awaitPID(t.Context()); err != nil {
		t.Fatal(err)
	}
	if said, code := entered(t, r, "forger", "id -u; id -g", nil); code != 0 || said != "1234\n1234\n" {
		t.Errorf("got code %d and %q, want the task's user", code, said)
	}
	original, err := d.readFile("status")
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(text string) {
		t.Helper()
		f, err := d.openFile("status", os.O_WRONLY|os.O_TRUNC)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := start(t, r, script("root", "sleep 600")); err != nil {
		t.Fatal(err)
	}
	other, err := r.containerDir("root").awaitPID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rewrite(strconv.Itoa(other) + "\n")
	defer rewrite(string(original)) // otherwise the removal of one task would end the other
	if p, err := r.Exec(t.Context(), "forger", stream.Program{Argv: []string{"id"}}); err == nil || !strings.Contains(err.Error(), "was modified") {
		t.Errorf("got %v, %v, want it refused: it would run as root", p, err)
	}
}
