package rootfs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// canStart skips the test where users may not make namespaces.
func canStart(t *testing.T) {
	t.Helper()
	if err := Check("/run/determined"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func emptyDir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// run starts a script in a tree and returns what it writes to its descriptor 3.
func run(t *testing.T, places []Place, dir, script string) (string, error) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	p := Program{
		Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir,
		Files: []int{int(null.Fd()), 2, 2, int(out.Fd())},
	}
	tree := Tree{Places: places, Stage: emptyDir(t, "stage"), UID: os.Getuid(), GID: os.Getgid()}
	if code, err := await(tree.Fork(p)); err != nil {
		return "", err
	} else if code != 0 {
		t.Errorf("%q: got code %d", script, code)
	}
	said, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(said), nil
}

func TestAStandInHasWhatTheDirectoryHas(t *testing.T) {
	t.Parallel()
	canStart(t)
	source := emptyDir(t, "source")
	list := "ls -A / | grep -vx determined-test >&3; ls -A /etc >&3; stat -c '%a %n' / /etc >&3; readlink /bin >&3 || true"
	want, err := run(t, nil, "", list)
	if err != nil {
		t.Fatal(err)
	}
	got, err := run(t, []Place{{Path: "/determined-test/x", Source: source}}, "/determined-test", list+"; test -d x && ! touch y 2>/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("got %q, want what there is without a place: %q", got, want)
	}
	if want == "" {
		t.Error("nothing was listed")
	}
}

// What a place hides is still shown at others.
func TestPlacesOfEachOther(t *testing.T) {
	t.Parallel()
	canStart(t)
	a, b := emptyDir(t, "a"), emptyDir(t, "b")
	if err := errors.Join(os.WriteFile(a+"/is", []byte("a"), 0o600), os.WriteFile(b+"/is", []byte("b"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := run(t, []Place{{Path: a, Source: b}, {Path: b, Source: a}}, b, "cat "+a+"/is is >&3")
	if err != nil || got != "ba" {
		t.Errorf("got %q, %v, want both exchanged", got, err)
	}
}

func TestWhatCannotBeStartedIsSaid(t *testing.T) {
	t.Parallel()
	canStart(t)
	dir := emptyDir(t, "source")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		place Place
		dir   string
		want  string
	}{
		"no source":         {Place{Path: "/srv", Source: dir + "/no"}, "", "show /srv: "},
		"a link":            {Place{Path: "/srv", Source: link}, "", "it is a link"},
		"a file over a dir": {Place{Path: "/srv", Source: file}, "", "mount " /* … /srv */},
		"no directory":      {Place{Path: "/srv", Source: dir}, "/srv/no", "enter /srv/no: no such file"},
		"a bad path":        {Place{Path: "/srv", Source: dir}, "/srv\x00", "path"},
		"below a file":      {Place{Path: file + "/x", Source: dir}, "", "not a directory"},
	} {
		if _, err := run(t, []Place{tc.place}, tc.dir, "true"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, tc.want)
		}
	}
}

// await waits for a process, and says what it ended with.
func await(pid int, err error) (code int, _ error) {
	if pid == 0 {
		return 0, err
	}
	var status unix.WaitStatus
	if _, werr := unix.Wait4(pid, &status, 0, nil); werr != nil {
		return 0, errors.Join(err, werr)
	}
	return status.ExitStatus(), err
}

func TestWhatToChange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		set  map[string]string
		want string
	}{
		"Debian's":  {map[string]string{"kernel.unprivileged_userns_clone": "0"}, "run `sysctl -w kernel.unprivileged_userns_clone=1` as root"},
		"Ubuntu's":  {map[string]string{"kernel.apparmor_restrict_unprivileged_userns": "1"}, "kernel.apparmor_restrict_unprivileged_userns=0`"},
		"two":       {map[string]string{"user.max_user_namespaces": "0", "user.max_mnt_namespaces": "0"}, "user.max_user_namespaces=15000` and `sysctl -w user.max_mnt_namespaces=15000`"},
		"something": {nil, "--cap-add SYS_ADMIN"},
	} {
		if got := findFix(func(name string) string { return tc.set[name] }); !strings.Contains(got, tc.want) {
			t.Errorf("%s: got %q, want %q in it", name, got, tc.want)
		}
	}
}
