package process

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/agent/container"
)

// mapping translates container paths to host paths, for machines without fixed paths. It replaces
// whole values: an argument, the part after its "=", the value of a variable or an element of its
// list. It does not replace paths inside a script, which can use DET_RUN_DIR.
type mapping struct {
	root     string
	prefixes []string
}

func newMapping(root string, s container.Spec) mapping {
	m := mapping{root: root, prefixes: []string{runDir}}
	add := func(p string) {
		if p = path.Clean(p); p != "/" && !m.covers(p) {
			m.prefixes = append(m.prefixes, p)
		}
	}
	add(workDir(s))
	for _, mount := range s.Mounts {
		add(mount.ContainerPath)
	}
	for _, f := range s.Files {
		add(f.Path)
	}
	return m
}

func (m mapping) covers(p string) bool {
	return slices.ContainsFunc(m.prefixes, func(prefix string) bool { return isWithin(p, prefix) })
}

// mapPath translates a path of the container and returns others unchanged.
func (m mapping) mapPath(p string) string {
	if !m.covers(p) {
		return p
	}
	return filepath.Join(m.root, p)
}

// mapSpec translates the work directory, command and environment of a program.
func (m mapping) mapSpec(s container.Spec) container.Spec {
	s.WorkDir, s.Command, s.Env = m.mapPath(workDir(s)), m.mapArgs(s.Command), m.mapEnv(s.Env)
	return s
}

func (m mapping) mapArgs(args []string) []string {
	out := make([]string, len(args))
	for i, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if ok && m.covers(value) && strings.HasPrefix(key, "-") {
			out[i] = key + "=" + m.mapPath(value)
			continue
		}
		out[i] = m.mapPath(a)
	}
	return out
}

func (m mapping) mapEnv(env []string) []string {
	out := make([]string, len(env))
	for i, e := range env {
		key, value, _ := strings.Cut(e, "=")
		parts := strings.Split(value, ":")
		for j, p := range parts {
			parts[j] = m.mapPath(p)
		}
		out[i] = key + "=" + strings.Join(parts, ":")
	}
	return out
}
