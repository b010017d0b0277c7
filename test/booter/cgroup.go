package booter

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// groups creates the control groups of one machine below the test's own, in every hierarchy of the
// host.
func groups(name string) ([]string, error) {
	own, err := ownGroups()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, parent := range own {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return out, err
		}
		out = append(out, dir)
		// A cpuset group has no CPUs and memory nodes until they are assigned.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if text, err := os.ReadFile(filepath.Join(parent, file)); err == nil {
				if err := os.WriteFile(filepath.Join(dir, file), text, 0); err != nil {
					return out, err
				}
			}
		}
	}
	return out, nil
}

// ownGroups returns the directories of this process's control groups.
func ownGroups() ([]string, error) {
	file, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	var out []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), ":", 3)
		if len(parts) != 3 {
			continue
		}
		for _, mount := range []string{strings.TrimPrefix(parts[1], "name="), "unified", "."} {
			dir := filepath.Join("/sys/fs/cgroup", mount, parts[2])
			if _, err := os.Stat(filepath.Join(dir, "cgroup.procs")); err == nil && (parts[1] != "" || mount != "") {
				out = append(out, dir)
				break
			}
		}
	}
	return out, nil
}

// exitTimeout is the timeout for the last processes of a machine to exit after its init process was
// killed.
const exitTimeout = 10 * time.Second

// ungroup removes control groups once they are empty.
func ungroup(ctx context.Context, dirs []string) error {
	ctx, cancel := context.WithTimeout(ctx, exitTimeout)
	defer cancel()
	for {
		var errs []error
		for _, top := range dirs {
			errs = append(errs, removeGroup(top))
		}
		err := errors.Join(errs...)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// removeGroup removes a control group and its descendants, deepest first.
func removeGroup(top string) error {
	var all []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		return nil // a group that no longer exists is as wanted
	})
	errs := []error{err}
	slices.Reverse(all)
	for _, dir := range all {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
