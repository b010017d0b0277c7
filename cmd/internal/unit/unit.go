// Package unit makes this machine run a role at every boot: it puts the binary
// in its place, writes the systemd unit, and enables and starts it.
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

// Binary is where the installed det-deploy stands: it is on root's PATH
// everywhere, and no package manager owns it.
const Binary = "/usr/local/bin/det-deploy"

// Unit is one unit to install.
type Unit struct {
	// Name is the unit, "det-deploy-master.service", and Text its file.
	Name string
	Text []byte
	// DataDir is made before the first start, for root only.
	DataDir string
	// Root is put before every path, for tests; empty otherwise.
	Root string
	// Systemctl runs systemctl. It is nil outside of tests.
	Systemctl func(ctx context.Context, args ...string) error
}

// Step is one thing to do.
type Step struct {
	// What says it to a person: "write /etc/systemd/system/x.service".
	What string
	do   func(context.Context) error
}

// NoSystemdError refuses a machine whose init is another one.
type NoSystemdError struct{ Role string }

// Error says so.
func (e *NoSystemdError) Error() string {
	return "install the " + e.Role + ": this machine does not run systemd"
}

// Hint is what to do instead.
func (e *NoSystemdError) Hint() string {
	return "have your own supervisor run: det-deploy " + e.Role + " run"
}

// Check refuses a machine on which role cannot be installed.
func (u Unit) Check(role string) error {
	// The directory that sd_booted(3) looks for.
	if _, err := os.Stat(filepath.Join(u.Root, "/run/systemd/system")); err != nil {
		return &NoSystemdError{role}
	}
	if u.Root == "" && os.Geteuid() != 0 {
		return &notRootError{role}
	}
	return nil
}

type notRootError struct{ role string }

func (e *notRootError) Error() string { return "install the " + e.role + ": only root may" }
func (e *notRootError) Hint() string  { return "sudo det-deploy " + e.role + " install" }

// Denied makes it the exit code of a refusal.
func (e *notRootError) Denied() bool { return true }

// Plan says what is to be done. What is as it should be is left out; the last
// step starts the unit, or starts it again when something changed.
func (u Unit) Plan() ([]Step, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
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

// Do carries out steps in order and tells each before.
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

// sameFile reports whether two files hold the same. One that is not there is
// different.
func sameFile(a, b string) (bool, error) {
	x, err := os.Stat(a)
	if err != nil {
		return false, fmt.Errorf("look at this program's file: %w", err)
	}
	y, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the installed program: %w", err)
	}
	return os.SameFile(x, y) || x.Size() == y.Size() && x.ModTime().Equal(y.ModTime()), nil
}

// copyFile copies a program with its time, by which the copy is known again.
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

// write replaces a file at once: a running program may not be written over.
func write(path string, from io.Reader, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.Replace(path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}
