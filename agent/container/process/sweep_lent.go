package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container/inside"
)

// lenderSuffix is the suffix of the link next to a lent directory that contains the owning
// container's directory. Only the agent's user can write there.
const lenderSuffix = ".lender"

// noteLender records d as the owner of the lent directory at, before that is created.
func noteLender(d dir, at string) error {
	if err := os.Remove(at + lenderSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(string(d), at+lenderSuffix)
}

// giveBack deletes a lent directory and its owner link.
func giveBack(at string) error {
	return errors.Join(os.RemoveAll(at), os.RemoveAll(at+lenderSuffix))
}

// SweepLent deletes the lent directories in below whose containers no longer exist, such as those
// of removed agents. Directories without an owner link stay.
func SweepLent(below string) error {
	entries, err := os.ReadDir(below)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find files of removed tasks: %w", err)
	}
	booted, err := bootTime()
	if err != nil {
		return fmt.Errorf("find files of removed tasks: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id, isMark := strings.CutSuffix(e.Name(), lenderSuffix)
		if !isMark {
			continue
		}
		lender, err := os.Readlink(filepath.Join(below, e.Name()))
		if err != nil || filepath.Base(lender) != id {
			continue // not a valid owner link
		}
		if info, err := e.Info(); err == nil && hasEnded(dir(lender), info.ModTime(), booted) {
			errs = append(errs, giveBack(filepath.Join(below, id)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove files of removed tasks: %w", err)
	}
	return nil
}

// hasEnded reports whether no process uses the files lent to d since the given time. If the parent
// of d does not exist either, the agent may run where this one has no access, on another volume or
// in another mount namespace; then its tasks count as running until the next reboot.
func hasEnded(d dir, since, booted time.Time) bool {
	if _, err := os.Lstat(string(d)); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	if _, err := os.Lstat(filepath.Dir(string(d))); err != nil && !since.Before(booted) {
		return false
	}
	return !slices.ContainsFunc(inside.Processes(), func(p inside.Proc) bool { return listMarked(p.PID, markVariable(d)) })
}

// bootTime returns the time at which this machine booted, according to its current clock.
func bootTime() (time.Time, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return time.Time{}, fmt.Errorf("get the boot time: %w", err)
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second), nil
}
