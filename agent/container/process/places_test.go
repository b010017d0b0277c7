package process

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
	containertest "github.com/det-deploy/det-deploy/test/contract/container"
)

// placing returns a runtime with fixed paths, or skips the test.
func placing(t *testing.T) *Runtime {
	t.Helper()
	r := newRuntime(t)
	if why := r.FixedPaths(); why != nil {
		t.Skip(why)
	}
	return r
}

// unplaced returns a runtime on a machine without namespaces.
func unplaced(t *testing.T) *Runtime {
	t.Helper()
	r := newPlain(t)
	r.machine.notPlaced = errors.New("no namespaces here; change a setting")
	return r
}

func TestContractWhereTheKernelRefusesNamespaces(t *testing.T) {
	t.Parallel()
	containertest.Suite{
		New: func(t *testing.T) container.Runtime { return unplaced(t) },
		Again: func(t *testing.T, r container.Runtime) container.Runtime {
			again := withOptions(t, r.(*Runtime).opts)
			again.machine.notPlaced = r.(*Runtime).machine.notPlaced
			return again
		},
		Spec: script,
	}.Run(t)
}

func TestNamespaceFeaturesAreRejectedWithoutNamespaces(t *testing.T) {
	t.Parallel()
	r := unplaced(t)
	for name, change := range map[string]func(*container.Spec){
		"fixed paths": func(s *container.Spec) { s.FixedPaths = true },
		"a read-only mount": func(s *container.Spec) {
			s.Mounts = []container.Mount{{HostPath: "/tmp", ContainerPath: "/d", ReadOnly: true}}
		},
	} {
		spec := script("c", "exit 0")
		change(&spec)
		if err := start(t, r, spec); err == nil || !strings.Contains(err.Error(), "change a setting") {
			t.Errorf("%s: got %v, want the reason and what to change", name, err)
		}
	}
}

// Each entry is a task that checks files at the specified paths.
func TestTaskFilesHaveTheirPaths(t *testing.T) {
	t.Parallel()
	data := openDir(t)
	if err := errors.Join(os.WriteFile(filepath.Join(data, "file"), []byte("there\n"), 0o644), os.Chmod(data, 0o777)); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(openDir(t), "link")
	if err := os.Symlink(data, link); err != nil {
		t.Fatal(err)
	}
	info := container.File{Path: "/run/determined/info/cluster.json", Content: []byte("of this task"), Mode: 0o644}
	mount := func(path string, readOnly bool) []container.Mount {
		return []container.Mount{{HostPath: data, ContainerPath: path, ReadOnly: readOnly}}
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	r := placing(t)
	for name, spec := range map[string]container.Spec{
		"the files of the task": {
			FixedPaths: true, Files: []container.File{info},
			Command: []string{`test "$(cat /run/determined/info/cluster.json)" = "of this task" && touch /run/determined/new /run/determined/info/new && test "$PWD" = /run/determined/workdir && touch here`},
		},
		"the machine is as it is": {
			Command: []string{`ls /proc/self /sys/class /usr/bin /dev/null >/dev/null && test "$(ls -A / | wc -l)" = "$ENTRIES" && echo x >/dev/null`},
			Env:     []string{"ENTRIES=" + strconv.Itoa(len(entries))},
		},
		"a mount at the root, which the machine does not have": {
			Mounts: mount("/determined-test-data", false), Command: []string{`cat /determined-test-data/file && touch /determined-test-data/new`},
		},
		"two mounts, one below missing directories": {
			Mounts:  append(mount("/determined-test-a", false), container.Mount{HostPath: data + "/file", ContainerPath: "/determined-test-b/c/file"}),
			Command: []string{`cat /determined-test-a/file && test "$(cat /determined-test-b/c/file)" = there && test -d /etc`},
		},
		"a read-only mount":            {Mounts: mount("/determined-test-data", true), Command: []string{`cat /determined-test-data/file && ! touch /determined-test-data/no 2>/dev/null`}},
		"a mount of a link":            {Mounts: []container.Mount{{HostPath: link, ContainerPath: "/mnt"}}, Command: []string{`cat /mnt/file`}},
		"a mount over what is there":   {Mounts: mount("/srv", false), Command: []string{`test "$(cat /srv/file)" = there && test -d /etc`}},
		"a mount in the files":         {Mounts: mount("/run/determined/workdir/data", false), Command: []string{`cat data/file`}},
		"a mount below /tmp":           {Mounts: mount("/tmp/determined-test/data", false), Command: []string{`cat /tmp/determined-test/data/file && touch /tmp/determined-test-new-$(id -u)`}},
		"a work directory at the root": {WorkDir: "/determined-test-work", Command: []string{`test "$PWD" = /determined-test-work && touch here && touch /run/determined/new`}},
		"a work directory in a mount":  {WorkDir: "/determined-test-data", Mounts: mount("/determined-test-data", false), Command: []string{`cat file`}},
		"a file of the machine's":      {Files: []container.File{{Path: "/etc/hostname", Content: []byte("other\n"), Mode: 0o644}}, Command: []string{`test "$(cat /etc/hostname)" = other && test -s /etc/passwd`}},
		"files below missing directories": {
			Files:   []container.File{{Path: "/determined-test-opt/x/y", Content: []byte("1"), Mode: 0o644}, {Path: "/determined-test-opt/x/z", Content: []byte("2"), Mode: 0o644}},
			Command: []string{`test "$(cat /determined-test-opt/x/y /determined-test-opt/x/z)" = 12`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec.ID, spec.Command = strings.NewReplacer(" ", "-", "/", "-", "'", "").Replace(name), append([]string{"sh", "-ec"}, spec.Command...)
			if said, code := outcome(t, r, spec); code != 0 {
				t.Errorf("got code %d and %q", code, said)
			}
			if err := r.Remove(t.Context(), spec.ID); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(func() {
		if left, err := filepath.Glob("/determined-test-*"); err != nil || len(left) != 0 {
			t.Errorf("the machine has %q, %v, want that tasks leave nothing there", left, err)
		}
		if _, err := os.Stat(filepath.Join(data, "file")); err != nil {
			t.Errorf("after removal of the tasks: %v; a mount must not be emptied", err)
		}
		_ = os.RemoveAll("/tmp/determined-test") // directories of plain tasks
		made, _ := filepath.Glob("/tmp/determined-test-new-*")
		for _, p := range made {
			_ = os.Remove(p)
		}
	})
}

// In a user namespace, a task writes as the agent's user.
func TestRootlessTasksWriteAsTheAgentsUser(t *testing.T) {
	t.Parallel()
	r := placing(t)
	if os.Geteuid() == 0 {
		t.Skip("tasks of root's have users of their own")
	}
	spec := script("user", "umask; touch new")
	spec.User = &container.User{} // as for a task whose owner has no account
	want, err := exec.CommandContext(t.Context(), "sh", "-c", "umask").Output()
	if err != nil {
		t.Fatal(err)
	}
	if said, code := outcome(t, r, spec); code != 0 || said != string(want) {
		t.Errorf("got code %d and %q, want %q", code, said, want)
	}
	info, err := os.Stat(r.containerDir("user").filePath("root/run/determined/workdir/new"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		t.Errorf("got %v, %v, want the file of the task in the agent's directory", info, err)
	}
}

func TestNestedMountsFollowTheirParents(t *testing.T) {
	t.Parallel()
	places := placesOf("/r", container.Spec{
		WorkDir: "/data/work", Mounts: []container.Mount{{HostPath: "/in", ContainerPath: "/run/determined/in"}, {HostPath: "/host", ContainerPath: "/data/"}},
		Files: []container.File{{Path: "/etc/x"}},
	})
	var got []string
	for _, p := range places {
		got = append(got, p.source+" at "+p.path)
	}
	want := []string{"/host at /data", "/r/etc/x at /etc/x", "/r/run/determined at /run/determined", "/in at /run/determined/in"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Missing mount points are created for the task only, and rejected where other users could redirect
// their creation.
func TestMountPointsAreNotCreatedOnMachine(t *testing.T) {
	t.Parallel()
	r := isolating(t)
	data, open := openDir(t), openDir(t)
	if err := errors.Join(os.WriteFile(filepath.Join(data, "file"), []byte("there\n"), 0o644), os.Chmod(open, 0o777), os.Mkdir(filepath.Join(open, "sub"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"/etc/nologin":           "",
		"/usr/lib/no/such/place": "",
		"/lib/no-such":           "",
		open + "/new":            "", // in the task's private /tmp
	} {
		spec := script("at"+strings.ReplaceAll(at, "/", "-"), "cat "+at)
		spec.Mounts = []container.Mount{{HostPath: filepath.Join(data, "file"), ContainerPath: at}}
		if said, code := outcome(t, r, spec); code != 0 || said != "there\n" {
			t.Errorf("%s: got code %d and %q, want %q", at, code, said, want)
		}
		if _, err := os.Lstat(at); err == nil {
			t.Errorf("the machine has %s", at)
		}
	}
	v := view{made: map[string]bool{}}
	for _, at := range []string{open + "/new", open + "/sub/new", open + "/sub"} {
		if _, _, err := v.resolve(at); err == nil || !strings.Contains(err.Error(), "users other than root can write to") {
			t.Errorf("%s: got %v, want it refused", at, err)
		}
	}
}
