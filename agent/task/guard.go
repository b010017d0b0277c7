package task

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/policy"
)

// Guard checks the mounts and devices of a container before it is created: it resolves their paths
// and rejects those that reach a protected path, such as policy.Guarded and the agent's own files.
type Guard struct {
	own []string
	// plain is true if tasks are plain processes, which use the machine's network without
	// requesting it.
	plain bool
	// table is the file with the kernel's mount table; if empty, /proc/self/mountinfo.
	table string
}

// NewGuard returns a guard that protects the agent's own paths. Empty paths are skipped.
func NewGuard(own ...string) Guard {
	var g Guard
	for _, p := range own {
		if abs, err := filepath.Abs(p); err == nil && p != "" {
			g.own = append(g.own, abs)
		}
	}
	return g
}

// ForProcesses returns the guard for tasks that are plain processes.
func (g Guard) ForProcesses() Guard {
	g.plain = true
	return g
}

// requested returns the privileges that a spec requests.
func (g Guard) requested(s *agentv1.Spec) policy.Asked {
	asked := policy.OfSpec(s)
	if g.plain {
		asked.HostNetwork = nil
	}
	return asked
}

// Resolve returns the spec with all host paths resolved, or an error that names the rejected ones.
// It is called right before a container is created, so that the checked paths are the mounted ones.
func (g Guard) Resolve(s *agentv1.Spec) (*agentv1.Spec, error) {
	asked := g.requested(s)
	if len(asked.Mounts)+len(asked.Devices) == 0 {
		return s, policy.Check(policy.FromAPI(s.GetPolicy()), asked)
	}
	guarded, err := g.guardedPaths()
	if err != nil {
		return nil, err
	}
	out := proto.CloneOf(s)
	w := walk{guarded: guarded}
	for i, m := range out.GetMounts() {
		m.HostPath = w.followLinks(asked.Mounts[i].Field, m.GetHostPath())
		if m.GetStorage() != "" {
			w.followStorage(asked.Mounts[i], m)
		}
	}
	for i, d := range out.GetDevices() {
		if d.GetContainerPath() == "" {
			d.ContainerPath = d.GetHostPath()
		}
		d.HostPath = w.followLinks(asked.Devices[i].Field, d.GetHostPath())
	}
	if w.err != nil {
		return nil, w.err
	}
	asked = g.requested(out)
	asked.Never = w.never
	return out, policy.Check(resolvePolicy(policy.FromAPI(s.GetPolicy())), asked)
}

// walk resolves the paths of one spec.
type walk struct {
	guarded []guarded
	never   []policy.Violation
	err     error
}

func (w *walk) followLinks(field, path string) string {
	real, err := resolveLinks(path)
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("%s: resolve %s: %w", field, path, err))
		return path
	}
	for _, g := range w.guarded {
		if reason := g.checkReached(path, real); reason != "" {
			w.never = append(w.never, policy.Violation{Field: field, Text: reason})
			break
		}
	}
	return real
}

// followStorage resolves the parent directory of a storage, which may be a link. Links below it are
// rejected, because tasks write there and could reach the checkpoints of others.
func (w *walk) followStorage(asked policy.Mount, m *agentv1.Mount) {
	above := w.followLinks(asked.Field, m.GetStorage())
	rel, err := filepath.Rel(m.GetStorage(), asked.Path)
	if err != nil || !policy.Below(m.GetStorage(), asked.Path) || filepath.Join(above, rel) != m.GetHostPath() {
		w.never = append(w.never, policy.Violation{Field: asked.Field, Text: fmt.Sprintf("%s is outside of its directory in the checkpoint storage", asked.Path)})
	}
	m.Storage = above
}

// guarded is a protected path with all its names on this machine.
type guarded struct {
	path  string
	names []string
	info  fs.FileInfo
}

func (g guarded) checkReached(asked, real string) string {
	for _, p := range []string{asked, real} {
		if _, reached := policy.Reaches(p, g.names); reached {
			return g.refusalText(asked, real)
		}
	}
	// A hard link: the same file under a name that is not in the mount table.
	if info, err := os.Stat(real); err == nil && g.info != nil && os.SameFile(info, g.info) {
		return g.refusalText(asked, real)
	}
	return ""
}

func (g guarded) refusalText(asked, real string) string {
	where := asked
	if real != filepath.Clean(asked) {
		where += ", which resolves to " + real + ","
	}
	return fmt.Sprintf("%s gives access to %s, which tasks may not mount", where, g.path)
}

// guardedPaths returns the protected paths according to the machine's current mounts.
func (g Guard) guardedPaths() ([]guarded, error) {
	file := g.table
	if file == "" {
		file = "/proc/self/mountinfo"
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the mount table: %w", err)
	}
	table := parseMountinfo(string(data))
	var out []guarded
	for _, p := range append(policy.Guarded(), g.own...) {
		real, err := resolveLinks(p)
		if err != nil {
			real = p // a dangling link, or one that this agent may not follow
		}
		item := guarded{path: p, names: append(table.pathNames(real), p)}
		if info, err := os.Stat(real); err == nil {
			item.info = info
		}
		out = append(out, item)
	}
	return out, nil
}

// resolvePolicy adds the targets of links to a policy. A path below another allowed path is not
// resolved, because users with write access could redirect it.
func resolvePolicy(p policy.Policy) policy.Policy {
	var more policy.Policy
	for i, h := range p.HostPaths {
		if real, err := resolveLinks(h.Path); err == nil && !isNested(p.HostPaths, i) {
			h.Path = real
			more.HostPaths = append(more.HostPaths, h)
		}
	}
	for _, d := range p.Devices {
		if real, err := resolveLinks(d); err == nil {
			more.Devices = append(more.Devices, real)
		}
	}
	return p.Allow(more)
}

func isNested(paths []policy.HostPath, i int) bool {
	for _, other := range paths {
		if filepath.Clean(other.Path) != filepath.Clean(paths[i].Path) && policy.Below(other.Path, paths[i].Path) {
			return true
		}
	}
	return false
}

// resolveLinks resolves symbolic links. If the path does not exist, it resolves the existing part.
func resolveLinks(path string) (string, error) {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) || path == "/" {
		return "", err
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", errors.New("it is a dangling link")
	}
	dir, err := resolveLinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// mount is a row of the mount table: the subtree root of a file system is mounted at point.
type mount struct{ device, root, point string }

type mounts []mount

// parseMountinfo parses /proc/self/mountinfo.
func parseMountinfo(table string) mounts {
	var out mounts
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 4 {
			out = append(out, mount{device: f[2], root: unescapeOctal(f[3]), point: unescapeOctal(f[4])})
		}
	}
	return out
}

// unescapeOctal decodes the four characters that the kernel escapes in octal.
func unescapeOctal(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// pathNames returns all paths of a file, because its file system may be mounted several times,
// wholly or in part.
func (t mounts) pathNames(path string) []string {
	out := []string{path}
	var on mount
	for _, m := range t {
		if policy.Below(m.point, path) && len(m.point) >= len(on.point) {
			on = m
		}
	}
	if on.point == "" {
		return out
	}
	inside := filepath.Join(on.root, strings.TrimPrefix(path, on.point))
	for _, m := range t {
		switch {
		case m.device != on.device:
		case policy.Below(m.root, inside):
			out = append(out, filepath.Join(m.point, strings.TrimPrefix(inside, strings.TrimSuffix(m.root, "/"))))
		case policy.Below(inside, m.root):
			out = append(out, m.point)
		}
	}
	return out
}
