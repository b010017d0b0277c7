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

// Guard looks at the machine before a container is made: where the paths that it asks
// for lead, and whether they reach what no task may have. It knows what of this machine no task may have, besides policy.Guarded.
type Guard struct {
	own []string
	// plain says that tasks are processes of the machine: they have its network whatever
	// they ask for.
	plain bool
	// table is where the kernel lists the mounts; empty is its usual place.
	table string
}

// NewGuard guards the paths that are the agent's own. Empty paths are skipped.
func NewGuard(own ...string) Guard {
	var g Guard
	for _, p := range own {
		if abs, err := filepath.Abs(p); err == nil && p != "" {
			g.own = append(g.own, abs)
		}
	}
	return g
}

// ForProcesses is the same guard for tasks that are processes of the machine.
func (g Guard) ForProcesses() Guard {
	g.plain = true
	return g
}

// requested is what a spec asks for that is not had without asking.
func (g Guard) requested(s *agentv1.Spec) policy.Asked {
	asked := policy.OfSpec(s)
	if g.plain {
		asked.HostNetwork = nil
	}
	return asked
}

// Resolve is the spec with every path of the machine followed to where it leads, or an
// error that names what is refused. It is asked right before a container is made: what
// it found is what is mounted.
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

// walk follows the paths of one spec.
type walk struct {
	guarded []guarded
	never   []policy.Violation
	err     error
}

func (w *walk) followLinks(field, path string) string {
	real, err := resolveLinks(path)
	if err != nil {
		w.err = errors.Join(w.err, fmt.Errorf("%s: look where %s leads: %w", field, path, err))
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

// followStorage follows the directory that a storage's is in, which may be a link. No link may lead on from
// there: tasks write in it, and would be given the checkpoints of others.
func (w *walk) followStorage(asked policy.Mount, m *agentv1.Mount) {
	above := w.followLinks(asked.Field, m.GetStorage())
	rel, err := filepath.Rel(m.GetStorage(), asked.Path)
	if err != nil || !policy.Below(m.GetStorage(), asked.Path) || filepath.Join(above, rel) != m.GetHostPath() {
		w.never = append(w.never, policy.Violation{Field: asked.Field, Text: fmt.Sprintf("%s leads out of its place in the checkpoint storage", asked.Path)})
	}
	m.Storage = above
}

// guarded is one path that no task may have, under every name it has here.
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
	// The same file under a name that no table of mounts tells: a hard link.
	if info, err := os.Stat(real); err == nil && g.info != nil && os.SameFile(info, g.info) {
		return g.refusalText(asked, real)
	}
	return ""
}

func (g guarded) refusalText(asked, real string) string {
	where := asked
	if real != filepath.Clean(asked) {
		where += ", which leads to " + real + ","
	}
	return fmt.Sprintf("%s would reach %s, which is given to no task", where, g.path)
}

// guardedPaths lists the paths that no task may have, as the machine's mounts are now.
func (g Guard) guardedPaths() ([]guarded, error) {
	file := g.table
	if file == "" {
		file = "/proc/self/mountinfo"
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("look at the mounts of this machine: %w", err)
	}
	table := parseMountinfo(string(data))
	var out []guarded
	for _, p := range append(policy.Guarded(), g.own...) {
		real, err := resolveLinks(p)
		if err != nil {
			real = p // a link to nowhere, or one that this agent may not follow
		}
		item := guarded{path: p, names: append(table.pathNames(real), p)}
		if info, err := os.Stat(real); err == nil {
			item.info = info
		}
		out = append(out, item)
	}
	return out, nil
}

// resolvePolicy is the policy with what its own paths lead to. A path below another that is
// allowed is not followed: who may write there could lead it elsewhere.
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

// resolveLinks follows links. Of a path that is not there, the part that is.
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
		return "", errors.New("it is a link to what is not there")
	}
	dir, err := resolveLinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, filepath.Base(path)), nil
}

// mount is one row of the table of mounts: the part root of a file system stands at
// point.
type mount struct{ device, root, point string }

type mounts []mount

// parseMountinfo reads /proc/self/mountinfo.
func parseMountinfo(table string) mounts {
	var out mounts
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); len(f) > 4 {
			out = append(out, mount{device: f[2], root: unescapeOctal(f[3]), point: unescapeOctal(f[4])})
		}
	}
	return out
}

// unescapeOctal decodes the four characters that the kernel writes in octal.
func unescapeOctal(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// pathNames are all places where a path can be seen: its file system may be mounted, in
// whole or in part, more than once.
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
