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
)

// lenderSuffix ends the name of the link beside a lent directory that says which
// process it belongs to. Only the agent's user writes there.
const lenderSuffix = ".lender"

// noteLender notes, before it is made, that what is lent at a path is d's.
func noteLender(d dir, at string) error {
	if err := os.Remove(at + lenderSuffix); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(string(d), at+lenderSuffix)
}

// giveBack removes what was lent to a task, and who says whose it was.
func giveBack(at string) error {
	return errors.Join(os.RemoveAll(at), os.RemoveAll(at+lenderSuffix))
}

// SweepLent removes from below what was lent by agents of this machine that are gone:
// whatever belongs to a process of which there is no directory any more. What does not
// say whose it is stays.
func SweepLent(below string) error {
	entries, err := os.ReadDir(below)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for files of tasks that are gone: %w", err)
	}
	booted, err := bootTime()
	if err != nil {
		return fmt.Errorf("look for files of tasks that are gone: %w", err)
	}
	var errs []error
	for _, e := range entries {
		id, isMark := strings.CutSuffix(e.Name(), lenderSuffix)
		if !isMark {
			continue
		}
		lender, err := os.Readlink(filepath.Join(below, e.Name()))
		if err != nil || filepath.Base(lender) != id {
			continue // not a mark of ours
		}
		if info, err := e.Info(); err == nil && hasEnded(dir(lender), info.ModTime(), booted) {
			errs = append(errs, giveBack(filepath.Join(below, id)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove files of tasks that are gone: %w", err)
	}
	return nil
}

// hasEnded reports that no process uses what d has borrowed since a time. Where not even the
// directory of all processes is there, the agent may run where this one cannot look, on
// a volume or in a mount namespace of its own; its tasks end with the machine.
func hasEnded(d dir, since, booted time.Time) bool {
	if _, err := os.Lstat(string(d)); !errors.Is(err, os.ErrNotExist) {
		return false
	}
	if _, err := os.Lstat(filepath.Dir(string(d))); err != nil && !since.Before(booted) {
		return false
	}
	return !slices.ContainsFunc(processTable(), func(p proc) bool { return listMarked(p.pid, markVariable(d)) })
}

// bootTime is when this machine started, by its clock of now.
func bootTime() (time.Time, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return time.Time{}, fmt.Errorf("ask when this machine started: %w", err)
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second), nil
}
