// Package booter makes the machines of an emulated cloud real: each becomes a
// host of its own on this machine, with a network address, processes, systemd
// and a disk that nobody else sees, boots as its cloud's image does, asks its
// metadata service, and dies when it is terminated. They stand in a network
// that has no way out, so that the addresses an emulator invents cannot reach
// whose they are. Only tests may import it.
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

// Gateway is the lab's own address, where the emulated cloud and a master listen.
const Gateway = "10.200.0.1"

// prefix begins every name that a lab gives away. The number behind it is the
// test's process, so that what a killed test left is known.
const prefix = "dd"

// Lab is a closed network. Every address is looked for inside of it and nowhere
// else.
type Lab struct {
	// Name is its network namespace.
	Name string
	// Dir holds its machines' disks.
	Dir string
	// Tools is a directory that machines see at the same path, read-only, also where
	// their own /tmp or /run hides the host's. OpenLab makes it what setup installed.
	Tools string
}

// OpenLab opens a lab that ends with the test. It needs root, systemd and iproute2, and
// Start what the cloud's image needs: a test is skipped with -short or where they are missing, or fails
// under CI=true.
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
		// A fixed address, or it changes when a machine goes and the others lose it.
		{"link", "add", "br0", "address", "02:00:0a:c8:00:01", "type", "bridge"},
		{"addr", "add", Gateway + "/32", "dev", "br0"},
		{"link", "set", "br0", "up"},
		{"route", "add", "default", "dev", "br0"},
	} {
		l.must(t, ctx, "ip", append([]string{"-n", l.Name}, args...)...)
	}
	return l
}

// tools returns the directory into which setup installs, "" if there is none.
func tools(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(installed.InProject(".cache"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return dir
}

// need skips a test where programs are missing, or fails it under CI=true.
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

// removeStale removes the networks and control groups of tests that were killed;
// their machines died with them.
func removeStale(t testing.TB) {
	t.Helper()
	for _, path := range stale(t, "/run/netns") {
		_ = exec.CommandContext(t.Context(), "ip", "netns", "del", filepath.Base(path)).Run() // another test may be at it, too
	}
	own, err := ownGroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range own {
		for _, path := range stale(t, dir) {
			_ = removeGroup(path) // what does not go hurts nobody
		}
	}
}

// stale is what has the name of a lab whose test is gone.
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

// must runs a command of the test's own network.
func (l *Lab) must(t testing.TB, ctx context.Context, name string, args ...string) { //nolint:revive // a test comes first
	t.Helper()
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		t.Errorf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// Wrap is the command that puts another into the lab.
func (l *Lab) Wrap() []string { return []string{"nsenter", "--net=" + netns(l.Name)} }

// Command is a program that runs in the lab.
func (l *Lab) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	wrap := append(l.Wrap(), name)
	return exec.CommandContext(ctx, wrap[0], append(wrap[1:], args...)...)
}

// Client reaches what listens in the lab.
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

// Listen opens a port in the lab for somebody in the test.
func (l *Lab) Listen(t testing.TB) net.Listener {
	t.Helper()
	return l.ListenAt(t, 0)
}

// ListenAt opens a port of the gateway.
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
