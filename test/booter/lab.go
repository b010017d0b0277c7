// Package booter boots the machines of an emulated cloud: each becomes a container on the host with
// its own network address, processes, systemd and disk. It boots like its cloud's image, reads its
// metadata service, and is killed when it is terminated. The machines are in an isolated network,
// so that the addresses invented by an emulator never reach their real owners. Only tests may
// import it.
package booter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/test/installed"
)

// Gateway is the lab's own address, at which the emulated cloud and a master listen.
const Gateway = "10.200.0.1"

// prefix is the prefix of all names that a lab creates. It is followed by the process ID of the
// test, so that the remains of a killed test can be recognized.
const prefix = "dd"

// Lab is an isolated network. All addresses are resolved inside of it.
type Lab struct {
	// Name is its network namespace.
	Name string
	// Dir holds its machines' disks.
	Dir string
	// Tools is a directory that machines see read-only at the same path, even where their own /tmp
	// or /run hides the host's. OpenLab sets it to the directory in which setup installs programs.
	Tools string
}

// OpenLab opens a lab that is closed at the end of the test. It requires root, systemd and
// iproute2; Start requires the programs of the cloud's image. A test is skipped with -short. If a
// requirement is missing, the test is skipped, or fails under CI=true.
func OpenLab(t testing.TB) *Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("boots machines; run without -short")
	}
	need(t, map[string]string{"/lib/systemd/systemd": "systemd", "/usr/bin/unshare": "util-linux"})
	removeStale(t)
	id := make([]byte, 2)
	if _, err := rand.Read(id); err != nil {
		t.Fatal(err)
	}
	l := &Lab{Name: fmt.Sprintf("%s%dx%s", prefix, os.Getpid(), hex.EncodeToString(id)), Dir: t.TempDir(), Tools: tools(t)}
	t.Cleanup(func() { l.must(t, context.WithoutCancel(t.Context()), "ip", "netns", "del", l.Name) })
	ctx := t.Context()
	l.must(t, ctx, "ip", "netns", "add", l.Name)
	for _, args := range [][]string{
		{"link", "set", "lo", "up"},
		// A fixed MAC address, otherwise it changes when a machine is removed and the others lose
		// the connection.
		{"link", "add", "br0", "address", "02:00:0a:c8:00:01", "type", "bridge"},
		{"addr", "add", Gateway + "/32", "dev", "br0"},
		{"link", "set", "br0", "up"},
		{"route", "add", "default", "dev", "br0"},
	} {
		l.must(t, ctx, "ip", append([]string{"-n", l.Name}, args...)...)
	}
	return l
}

// tools returns the directory in which setup installs programs, or "" if it does not exist.
func tools(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(installed.InProject(".cache"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return dir
}

// need skips a test if programs are missing, or fails it under CI=true.
func need(t testing.TB, programs map[string]string) {
	t.Helper()
	missing := ""
	if os.Getuid() != 0 {
		missing = "booting machines needs root"
	}
	for path, fix := range programs {
		if _, err := os.Stat(path); err != nil {
			missing = path + " is missing; run: apt-get install " + fix
		}
	}
	if _, err := exec.LookPath("ip"); err != nil {
		missing = "ip is missing; run: apt-get install iproute2"
	}
	switch {
	case missing == "":
	case os.Getenv("CI") == "true":
		t.Fatal(missing)
	default:
		t.Skip(missing)
	}
}

// removeStale removes the networks and control groups of killed tests, whose machines were killed
// with them.
func removeStale(t testing.TB) {
	t.Helper()
	for _, path := range stale(t, "/run/netns") {
		_ = exec.CommandContext(t.Context(), "ip", "netns", "del", filepath.Base(path)).Run() // another test may be removing it
	}
	own, err := ownGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range own {
		for _, path := range stale(t, dir) {
			_ = removeGroup(path) // a remaining group is harmless
		}
	}
}

// stale returns the names of labs whose test has ended.
func stale(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, prefix+"*x*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		digits, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), prefix), "x")
		pid, err := strconv.Atoi(digits)
		return err != nil || syscall.Kill(pid, 0) == nil
	})
}

// must runs a command that configures the test's network.
func (l *Lab) must(t testing.TB, ctx context.Context, name string, args ...string) { //nolint:revive // testing.TB comes first
	t.Helper()
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// Wrap returns the command prefix that runs a command in the lab.
func (l *Lab) Wrap() []string { return []string{"nsenter", "--net=" + netns(l.Name)} }

// Command returns a command that runs in the lab.
func (l *Lab) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	wrap := append(l.Wrap(), name)
	return exec.CommandContext(ctx, wrap[0], append(wrap[1:], args...)...)
}

// Client returns an HTTP client that connects to servers in the lab.
func (l *Lab) Client() *http.Client {
	dial := func(ctx context.Context, network, address string) (c net.Conn, err error) {
		err = within(l.Name, func() error {
			d := net.Dialer{Timeout: 10 * time.Second}
			c, err = d.DialContext(ctx, network, address)
			return err
		})
		return c, err
	}
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
}

// Listen listens on a free port of the gateway.
func (l *Lab) Listen(t testing.TB) net.Listener {
	t.Helper()
	return l.ListenAt(t, 0)
}

// ListenAt listens on a port of the gateway.
func (l *Lab) ListenAt(t testing.TB, port int) net.Listener {
	t.Helper()
	var out net.Listener
	err := within(l.Name, func() (err error) {
		out, err = new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(Gateway, strconv.Itoa(port)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
