package lab

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const unified = "/sys/fs/cgroup"

// hierarchies returns the mounted cgroup hierarchies: one for each controller in version 1, and
// whether there is the unified one of version 2.
func hierarchies() (v1 []mount, v2 bool) {
	for _, m := range mounts() {
		if m.fstype == "cgroup" {
			v1 = append(v1, m)
		}
		v2 = v2 || m.fstype == "cgroup2" && m.point == unified
	}
	return v1, v2
}

func (m mount) controls(controller string) bool {
	return slices.Contains(strings.Split(m.options, ","), controller)
}

// trackers returns the directories that list the processes of a group.
func trackers(group string) []string {
	if group == "" {
		return nil
	}
	v1, v2 := hierarchies()
	if v2 {
		return []string{filepath.Join(unified, group)}
	}
	for _, m := range v1 {
		if m.controls("pids") {
			return []string{filepath.Join(m.point, group)}
		}
	}
	return nil
}

func (l *Lab) makeGroups() error {
	v1, v2 := hierarchies()
	if v2 {
		if err := l.makeUnified(); err != nil {
			return err
		}
	}
	for _, m := range v1 {
		dir := m.point + l.podGroup
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if m.controls("cpuset") {
			if err := copyCPUs(m.point, dir); err != nil {
				return err
			}
		}
	}
	for _, dir := range trackers(l.sysGroup) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// makeUnified delegates all available controllers to the pods' group.
func (l *Lab) makeUnified() error {
	all, err := os.ReadFile(unified + "/cgroup.controllers")
	if err != nil {
		return err
	}
	group := unified + l.podGroup
	if err := os.MkdirAll(group, 0o755); err != nil {
		return err
	}
	for _, dir := range []string{unified, group} {
		for _, c := range strings.Fields(string(all)) {
			// Some cannot be delegated; the kubelet reports an error for those that it needs.
			os.WriteFile(dir+"/cgroup.subtree_control", []byte("+"+c), 0o644) //nolint:errcheck // see above
		}
	}
	return nil
}

// copyCPUs initializes a new cpuset, which is empty in version 1.
func copyCPUs(from, to string) error {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeGroups kills the remaining processes in the cluster's cgroups and removes the groups.
func (l *Lab) removeGroups() {
	for _, group := range []string{l.podGroup, l.sysGroup} {
		l.until(3*time.Second, func() bool { return killGroup(group) == 0 })
		for _, m := range mounts() {
			if strings.HasPrefix(m.fstype, "cgroup") {
				l.removeGroup(m.point + group)
			}
		}
	}
}

// killGroup kills each process of a group and returns their number.
func killGroup(group string) int {
	n := 0
	for _, top := range trackers(group) {
		for _, dir := range directories(top) {
			list, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			if err != nil {
				continue // it has exited
			}
			for _, field := range strings.Fields(string(list)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
					n++
					unix.Kill(pid, unix.SIGKILL) //nolint:errcheck // the process may have exited
				}
			}
		}
	}
	return n
}

// removeGroup removes a group and its descendants, the deepest first. A group stays busy for a
// moment after its last process has exited.
func (l *Lab) removeGroup(top string) {
	dirs := directories(top)
	slices.Reverse(dirs)
	for _, dir := range dirs {
		l.until(200*time.Millisecond, func() bool {
			err := os.Remove(dir)
			return err == nil || errors.Is(err, fs.ErrNotExist)
		})
	}
}

// directories returns top and all directories below it, parents first.
func directories(top string) []string {
	var out []string
	//nolint:errcheck // entries may disappear during the walk
	filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			out = append(out, path)
		}
		return nil
	})
	return out
}
