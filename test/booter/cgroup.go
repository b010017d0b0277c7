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

// groups makes the control groups of one machine, in every hierarchy of this
// one, below the test's own.
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
		// Where processors and memory are assigned, none are until it is said.
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

// ownGroups are the directories of this process's groups.
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

// dying is how long the last processes of a machine may take to be gone, once
// its first one was killed.
const dying = 10 * time.Second

// ungroup removes them when nothing is left in them.
func ungroup(ctx context.Context, dirs []string) error {
	ctx, cancel := context.WithTimeout(ctx, dying)
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

// removeGroup removes a group and those below it, the deepest first.
func removeGroup(top string) error {
	var all []string
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			all = append(all, path)
		}
		return nil // what is gone meanwhile is as wanted
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
