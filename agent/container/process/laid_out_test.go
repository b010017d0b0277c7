package process

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// keptModes are those of a directory in which all is that most tasks are ordered.
func keptModes() (s stamps) {
	for i, mode := range []uint32{0o755, 0o755, 0o700, 0o700} {
		s[i].inode, s[i].mode = uint64(10+i), unix.S_IFDIR|mode
	}
	return s
}

// usualFiles are as the master's orders have them.
func usualFiles() []container.File {
	return []container.File{
		{Path: runDir + "/workdir", Dir: true, Mode: 0o700},
		{Path: runDir + "/pythonuserbase", Dir: true, Mode: 0o700},
		{Path: infoDir + "/cluster.json", Content: []byte("text\n"), Mode: 0o640},
	}
}

func TestWhatIsLaidOutIsAsItWouldBeMade(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(*container.Spec, *stamps)
		want   bool
	}{
		"all as it is ordered":                  {func(*container.Spec, *stamps) {}, true},
		"a directory that was not another's":    {func(_ *container.Spec, s *stamps) { *s = stamps{} }, false},
		"another mode of the directory":         {func(_ *container.Spec, s *stamps) { s[0].mode |= 0o1000 }, false},
		"another mode of one kept":              {func(_ *container.Spec, s *stamps) { s[2].mode = unix.S_IFDIR | 0o755 }, false},
		"a link in the place of one kept":       {func(_ *container.Spec, s *stamps) { s[3].mode = unix.S_IFLNK | 0o700 }, false},
		"one that is not there":                 {func(_ *container.Spec, s *stamps) { s[2].inode = 0 }, false},
		"no place of infoDir":                   {func(_ *container.Spec, s *stamps) { s[1].inode = 0 }, false},
		"one that is not ordered":               {func(c *container.Spec, _ *stamps) { c.Files = slices.Delete(c.Files, 1, 2) }, false},
		"one that is neither there nor ordered": {func(c *container.Spec, s *stamps) { c.Files, s[3].inode = slices.Delete(c.Files, 1, 2), 0 }, true},
		"a work directory that is not ordered":  {func(c *container.Spec, s *stamps) { c.Files, s[2].mode = c.Files[1:], unix.S_IFDIR|0o755 }, true},
		"a work directory elsewhere":            {func(c *container.Spec, _ *stamps) { c.WorkDir = runDir + "/work" }, false},
		"a file elsewhere":                      {func(c *container.Spec, _ *stamps) { c.Files[2].Path = runDir + "/x" }, false},
		"a file in a directory of infoDir":      {func(c *container.Spec, _ *stamps) { c.Files[2].Path = infoDir + "/a/x" }, false},
		"a link":                                {func(c *container.Spec, _ *stamps) { c.Files[2].Link = "/etc" }, false},
		"a file with a time":                    {func(c *container.Spec, _ *stamps) { c.Files[2].ModTime = time.Now() }, false},
		"a file twice":                          {func(c *container.Spec, _ *stamps) { c.Files = append(c.Files, c.Files[2]) }, false},
		"a mount": {func(c *container.Spec, _ *stamps) {
			c.Mounts = []container.Mount{{HostPath: "/etc", ContainerPath: "/x"}}
		}, false},
		"files to which the library adds, on disk": {func(c *container.Spec, _ *stamps) { c.FixedPaths = true }, false},
	} {
		spec, modes := container.Spec{Files: usualFiles()}, keptModes()
		c.change(&spec, &modes)
		l := dir("/agent/task").layoutOf(&held{given: given{files: "/files", modes: modes}}, spec)
		if got := l.isLaidOut(spec); got != c.want {
			t.Errorf("%s: got %t, want %t", what, got, c.want)
		}
	}
}

func TestInfoIsPutWithTheModesThatAreOrdered(t *testing.T) {
	t.Parallel()
	d := dir(t.TempDir())
	l := layout{info: d.filePath(infoName)}
	spec := container.Spec{Files: append(usualFiles(), container.File{Path: infoDir, Dir: true, Mode: 0o711})}
	if err := l.putInfo(spec); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o711, "cluster.json": 0o640} {
		if info, err := os.Stat(filepath.Join(l.info, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%q: got %v, %v, want %o", name, info, err, want)
		}
	}
	if text, err := os.ReadFile(filepath.Join(l.info, "cluster.json")); err != nil || string(text) != "text\n" {
		t.Errorf("got %q, %v", text, err)
	}
	// What is more than is known is found by reading.
	if err := os.WriteFile(d.filePath("killed"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.removeKnown(&held{info: true, names: append(infoNames(spec), "status")}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(string(d)); !os.IsNotExist(err) {
		t.Errorf("got %v, want the directory gone", err)
	}
}
