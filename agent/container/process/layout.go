package process

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/agent/container"
)

// layout says where the files of a task are: below root, which may be in memory, but for
// what a task may write in. That is below disk.
type layout struct {
	// root is empty where none of them is below it.
	root string
	// disk is empty where all is below root.
	disk  string
	large []largeDir
	// tmp is what an isolated task sees as /tmp.
	tmp string
	// modes are those of what is kept in disk, if nothing else is there.
	modes stamps
	// info has the files of infoDir, in memory, where that is in a large one and the task may not
	// write there; otherwise it is empty.
	info string
}

// largeDir is a directory or file of the task's.
type largeDir struct {
	// path is what the task calls it.
	path string
	// name is its name below disk; "." is disk itself.
	name string
}

// infoDir has small files alone, which the agent writes.
const infoDir = runDir + "/" + infoName

// layoutOf has no large directories for a task that has all its files below another
// directory, or none in memory.
func (d dir) layoutOf(h *held, spec container.Spec) layout {
	l := layout{root: h.root(d), tmp: d.filePath(tmpName)}
	if h.lent != "" || h.files == "" {
		return l
	}
	l.disk, l.modes = h.files, h.modes
	taken := namesInRunDir(spec)
	for _, p := range largePaths(spec) {
		name := "."
		if p != runDir {
			name = uniqueName(path.Base(p), taken)
		}
		l.large = append(l.large, largeDir{path: p, name: name})
	}
	l.tmp = filepath.Join(l.disk, uniqueName(tmpName, taken))
	hasInfo := hasFiles(spec, infoDir) && !isReplaced(spec, infoDir)
	// The library adds to the files of trials, of which each takes long.
	if hasInfo && !spec.FixedPaths && slices.ContainsFunc(l.large, func(d largeDir) bool { return isWithin(infoDir, d.path) }) {
		l.info = d.filePath(infoName)
	}
	if len(l.large) > 0 && len(spec.Mounts) == 0 {
		l.root = ""
	}
	return l
}

// largePaths are the task's own directory, its work directory and its files, unless one is below
// another or a mount.
func largePaths(spec container.Spec) []string {
	paths := newMapping("", spec).prefixes
	slices.Sort(paths)
	var out []string
	for _, p := range paths {
		within := func(o string) bool { return isWithin(p, o) }
		mounted := func(m container.Mount) bool { return isWithin(p, path.Clean(m.ContainerPath)) }
		if !slices.ContainsFunc(out, within) && !slices.ContainsFunc(spec.Mounts, mounted) {
			out = append(out, p)
		}
	}
	return out
}

// namesInRunDir are those that the task's own directory may have entries of.
func namesInRunDir(spec container.Spec) map[string]bool {
	out := map[string]bool{}
	for _, name := range keptDirs {
		out[name] = true
	}
	add := func(p string) {
		if rest, below := strings.CutPrefix(path.Clean(p), runDir+"/"); below {
			name, _, _ := strings.Cut(rest, "/")
			out[name] = true
		}
	}
	add(workDir(spec))
	for _, f := range spec.Files {
		add(f.Path)
	}
	for _, m := range spec.Mounts {
		add(m.ContainerPath)
	}
	return out
}

// uniqueName is a name that is not taken yet, and takes it.
func uniqueName(name string, taken map[string]bool) string {
	for i, first := 1, name; taken[name]; i++ {
		name = first + "-" + strconv.Itoa(i)
	}
	taken[name] = true
	return name
}

// home is the directory of all that is large.
func (l layout) home() string {
	if l.disk != "" {
		return l.disk
	}
	return l.root
}

// Links in the directory of a container, where that is in memory, to what is on disk.
const (
	filesLink  = "files"
	outputLink = "output"
)

// diskFiles is where the large directories of the task are, if they are elsewhere. A
// directory that is not the agent's own may say anything.
func (d dir) diskFiles() (at string, found bool) { return d.leadsTo(filesLink) }

func (d dir) leadsTo(link string) (at string, found bool) {
	if !d.isOwn() {
		return "", false
	}
	at, err := os.Readlink(d.filePath(link))
	return at, err == nil
}

// outputs are the names of a task's streams.
var outputs = [...]string{"stdout", "stderr"}

// outputFiles are where the output of each stream is.
func (d dir) outputFiles() [len(outputs)]string {
	at, _ := d.leadsTo(outputLink)
	return d.outputAt(at)
}

// outputAt is outputFiles where the link is known; it is empty where there is none.
func (d dir) outputAt(at string) (out [len(outputs)]string) {
	for i, name := range outputs {
		if out[i] = d.filePath(name); at != "" {
			out[i] = at + "." + name
		}
	}
	return out
}
