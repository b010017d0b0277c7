package process

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// settledDir is a directory as a task leaves it that writes nothing, and what it had when it was last looked at.
func settledDir(t *testing.T) (at string, s stamps) {
	t.Helper()
	at = filepath.Join(t.TempDir(), "files")
	for _, name := range keptDirs {
		if err := os.MkdirAll(filepath.Join(at, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := (stamps{}).empty(at, time.Now()); err != nil || s != (stamps{}) {
		t.Fatalf("a directory that was just changed: got %v, %v; what comes may have the same time", s, err)
	}
	eventually(t, "a directory that no one changes is settled", func() bool {
		var err error
		// Where the tests run, times are finer than where settledAfter is needed.
		if s, err = s.empty(at, time.Now().Add(settledAfter-100*time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		return s != (stamps{})
	})
	return at, s
}

func TestADirectoryThatNoOneHasChangedIsNotLookedThrough(t *testing.T) {
	at, s := settledDir(t)
	// A look at all that is in it would find it not settled at this time.
	if again, err := s.empty(at, time.Unix(0, 0)); err != nil || again != s {
		t.Errorf("got %v, %v; want %v", again, err, s)
	}
}

// Of a file system that keeps seconds, or two, what comes within these may have the same time.
func TestADirectoryIsSettledWhenWholeSecondsHavePassed(t *testing.T) {
	t.Parallel()
	at, s := settledDir(t)
	before := time.Now()
	if err := os.WriteFile(filepath.Join(at, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := s.empty(at, before.Add(2*time.Second)); err != nil || again != (stamps{}) {
		t.Errorf("got %v, %v; it was changed two seconds ago", again, err)
	}
}

func TestADirectoryThatWasChangedIsEmptied(t *testing.T) {
	for what, change := range map[string]func(at string) error{
		"a file":              func(at string) error { return os.WriteFile(filepath.Join(at, "left"), nil, 0o600) },
		"a file in one kept":  func(at string) error { return os.WriteFile(filepath.Join(at, "workdir", "left"), nil, 0o600) },
		"directories in one":  func(at string) error { return os.MkdirAll(filepath.Join(at, "info", "a", "b"), 0o755) },
		"a file that is gone": func(at string) error { return writeAndRemove(filepath.Join(at, "workdir", "left")) },
		"one kept is another": func(at string) error { return replaceDir(filepath.Join(at, "workdir")) },
		"another mode":        func(at string) error { return os.Chmod(filepath.Join(at, "pythonuserbase"), 0o700) },
		"another mode of all": func(at string) error { return os.Chmod(at, 0o700) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			at, s := settledDir(t)
			if err := change(at); err != nil {
				t.Fatal(err)
			}
			if again, err := s.empty(at, time.Now()); err != nil || again != (stamps{}) {
				t.Errorf("got %v, %v; it was just changed", again, err)
			}
			for _, name := range append([]string{""}, keptDirs[:]...) {
				entries, err := os.ReadDir(filepath.Join(at, name))
				if name == "" && len(entries) != len(keptDirs) || name != "" && len(entries) > 0 || err != nil {
					t.Errorf("in %q is %v, %v", name, entries, err)
				}
			}
		})
	}
}

func writeAndRemove(name string) error {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	return os.Remove(name)
}

func replaceDir(name string) error {
	if err := os.Rename(name, name+"-before"); err != nil {
		return err
	}
	if err := os.Mkdir(name, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(name, "left"), nil, 0o600)
}
