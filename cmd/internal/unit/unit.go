// Package unit installs a role as a service of this machine: it copies the binary, writes the systemd
// unit, and enables and starts it.
package unit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// Binary is the path of the installed det-deploy. It is on root's PATH in all distributions and not
// managed by package managers.
const Binary = "/usr/local/bin/det-deploy"

// Unit is a systemd unit to install.
type Unit struct {
	// Name is its name, such as "det-deploy-master.service", and Text the contents of its file.
	Name string
	Text []byte
	// DataDir is created before the first start, readable only by root.
	DataDir string
	// Files are further files, by path. Links are symbolic links, by path; a link does not replace an
	// existing file.
	Files map[string][]byte
	Links map[string]string
	// Sweep are the arguments of this program that end what the stopped role has left running, or none.
	Sweep []string
	// Root is a prefix for all paths in tests.
	Root string
	// Systemctl runs systemctl. It is set only in tests.
	Systemctl func(ctx context.Context, args ...string) error
}

// Step is a step of the installation.
type Step struct {
	// What describes it to the user, as in "write /etc/systemd/system/x.service".
	What string
	do   func(context.Context) error
}

// NoSystemdError reports a machine that does not run systemd.
type NoSystemdError struct{ Role, Verb string }

// Error implements error.
func (e *NoSystemdError) Error() string {
	return "cannot " + e.Verb + " the " + e.Role + ": this machine does not run systemd"
}

// Hint names the alternative.
func (e *NoSystemdError) Hint() string {
	if e.Verb != "install" {
		return ""
	}
	return "run it under another supervisor: det-deploy " + e.Role + " run"
}

// Check returns an error if role cannot be installed on this machine, or uninstalled.
func (u Unit) Check(role, verb string) error {
	// sd_booted(3) checks for the same directory.
	if _, err := os.Stat(filepath.Join(u.Root, "/run/systemd/system")); err != nil {
		return &NoSystemdError{role, verb}
	}
	if u.Root == "" && os.Geteuid() != 0 {
		return &notRootError{role, verb}
	}
	return nil
}

type notRootError struct{ role, verb string }

func (e *notRootError) Error() string {
	return "cannot " + e.verb + " the " + e.role + ": root is required"
}
func (e *notRootError) Hint() string { return "sudo det-deploy " + e.role + " " + e.verb }

// Denied selects the exit code for denied requests.
func (e *notRootError) Denied() bool { return true }

// Plan returns the required steps. The last step starts the unit, or restarts it if something changed.
func (u Unit) Plan() ([]Step, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the file of this program: %w", err)
	}
	var steps []Step
	file := filepath.Join(u.Root, "/etc/systemd/system", u.Name)
	binary := filepath.Join(u.Root, Binary)
	if same, err := sameFile(self, binary); err != nil {
		return nil, err
	} else if !same {
		steps = append(steps, Step{"copy this program to " + Binary, func(context.Context) error { return copyFile(self, binary) }})
	}
	data := filepath.Join(u.Root, u.DataDir)
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		steps = append(steps, Step{"create " + u.DataDir, func(context.Context) error { return os.MkdirAll(data, 0o700) }})
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, u.Text) {
		steps = append(steps, Step{"write /etc/systemd/system/" + u.Name, func(context.Context) error { return write(file, bytes.NewReader(u.Text), 0o644) }})
	}
	steps = append(steps, u.fileSteps()...)
	start := Step{"enable and start " + u.Name, func(ctx context.Context) error {
		return u.systemctl(ctx, "enable", "--now", u.Name)
	}}
	if len(steps) > 0 {
		start = Step{"enable and restart " + u.Name, func(ctx context.Context) error {
			return errors.Join(u.systemctl(ctx, "daemon-reload"), u.systemctl(ctx, "enable", u.Name), u.systemctl(ctx, "restart", u.Name))
		}}
	}
	return append(steps, start), nil
}

// Do runs the steps in order. It calls tell before each.
func Do(ctx context.Context, steps []Step, tell func(what string)) error {
	for _, s := range steps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s: %w", s.What, err)
		}
		tell(s.What)
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.What, err)
		}
	}
	return nil
}

func (u Unit) systemctl(ctx context.Context, args ...string) error {
	if u.Systemctl != nil {
		return u.Systemctl(ctx, args...)
	}
	out, err := exec.CommandContext(ctx, "systemctl", args...).CombinedOutput() //nolint:gosec // the arguments are ours
	if err != nil {
		return fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// sameFile reports whether two programs are identical by size and modification time. It returns false if b
// does not exist.
func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, fmt.Errorf("cannot read the file of this program: %w", err)
	}
	y, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot read the installed program: %w", err)
	}
	return os.SameFile(x, y) || x.Size() == y.Size() && x.ModTime().Equal(y.ModTime()), nil
}

// copyFile copies a program with its modification time, by which sameFile recognizes the copy.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close() //nolint:errcheck // it was only read
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if err := write(to, src, 0o755); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// write replaces a file atomically, because the file of a running program cannot be overwritten.
func write(path string, from io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Replace(path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}
