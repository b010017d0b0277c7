package companion_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/companion"
)

// role is the argument with which this program is a companion.
const role = "be-a-companion"

// seen is what a companion says of itself.
type seen struct {
	PID, Parent, Session int
	Dir                  string
	Environ              []string
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == role {
		os.Exit(tellOfItself()) //nolint:forbidigo // the main of another program
	}
	os.Exit(m.Run()) //nolint:forbidigo // it is the main
}

func tellOfItself() int {
	session, _ := unix.Getsid(0) // of one's own it is known
	dir, err := os.Getwd()
	if err != nil {
		return 1
	}
	_, _ = os.Stderr.WriteString("on duty\n") // a log may have no room
	me := seen{os.Getpid(), os.Getppid(), session, dir, os.Environ()}
	if err := json.NewEncoder(os.NewFile(3, "report")).Encode(me); err != nil {
		return 1
	}
	return 0
}

// startOne has start start a companion with what it needs, and returns what that says of itself.
func startOne(t *testing.T, log companion.Log, start func(companion.Companion) error) seen {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	err = start(companion.Companion{Args: []string{role}, File: w, Log: log, Needs: func(key string) bool { return key == "PATH" }})
	_ = w.Close() // the companion has its own
	if err != nil {
		t.Fatal(err)
	}
	var got seen
	if err := json.NewDecoder(r).Decode(&got); err != nil {
		t.Fatalf("read what the companion says: %v", err)
	}
	return got
}

func checkApart(t *testing.T, got seen) {
	t.Helper()
	if got.Session != got.PID || got.Dir != "/" {
		t.Errorf("process %d runs in session %d and directory %s, want its own session and /", got.PID, got.Session, got.Dir)
	}
	if want := []string{"GOMAXPROCS=1", "PATH=" + os.Getenv("PATH")}; !slices.Equal(got.Environ, want) {
		t.Errorf("its environment is %q, want %q", got.Environ, want)
	}
}

func TestACompanionHasWhatItNeedsAndIsNoChild(t *testing.T) {
	t.Setenv("DET_DEPLOY_TOKEN", "secret")
	log := companion.Log(filepath.Join(t.TempDir(), "log"))
	got := startOne(t, log, companion.Companion.StartAlone)
	checkApartFromShell(t, got)
	if got.Parent == os.Getpid() {
		t.Error("it is a child of this process")
	}
	if words := log.LastWords(0); words != "on duty" {
		t.Errorf("its log ends with %q, want what it said", words)
	}
	if _, err := syscall.Wait4(got.PID, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("waiting for it gives %v, want that it is no child", err)
	}
}

// checkApartFromShell leaves out what a shell adds to the environment and whose session it is.
func checkApartFromShell(t *testing.T, got seen) {
	t.Helper()
	got.Environ = slices.DeleteFunc(got.Environ, func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"PWD", "OLDPWD", "SHLVL", "_"}, key)
	})
	if own, _ := unix.Getsid(0); got.Session == own {
		t.Error("it runs in the session of this process")
	}
	got.Session = got.PID
	slices.Sort(got.Environ)
	checkApart(t, got)
}
