// Package dockertest starts a private Docker Engine for a test, with an image that is built from
// scratch. It pulls nothing and touches no other engine of the machine.
package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// Image is the name of the image: a static busybox with links for its applets.
const Image = "det-deploy-test:latest"

// install is the command that installs the required packages.
const install = "run: apt-get install docker.io busybox-static"

// startTimeout limits the start of an engine, which starts its own containerd.
const startTimeout = 60 * time.Second

// Daemon is a private engine. It has no bridge: containers use network mode host or none.
type Daemon struct {
	// Host is the address of its socket.
	Host string
	API  *client.Client
	dir  string
	pid  int
}

// Start starts an engine that is stopped at the end of the test. It takes seconds, so start one for
// each test binary and run subtests. It skips the test with -short, and if Docker is missing; with
// CI=true a missing Docker fails the test.
func Start(t *testing.T) *Daemon {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a Docker Engine; run without -short")
	}
	need(t, os.Getuid() == 0, "a private Docker Engine needs root")
	path, err := exec.LookPath("dockerd")
	need(t, err == nil, "dockerd is not installed; "+install)
	busybox, err := os.ReadFile("/bin/busybox")
	need(t, err == nil, "a static busybox is not installed; "+install)

	for _, driver := range []string{"overlay2", "vfs"} {
		d, err := start(t, path, driver)
		if err != nil {
			t.Logf("storage driver %s: %v", driver, err)
			continue
		}
		d.load(t, busybox)
		return d
	}
	need(t, false, "dockerd does not start here; its log is above")
	return nil
}

func need(t *testing.T, ok bool, why string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("CI") == "true":
		t.Fatal(why)
	default:
		t.Skip(why)
	}
}

func start(t *testing.T, path, driver string) (*Daemon, error) {
	t.Helper()
	// Not t.TempDir: the path of a socket has at most 108 bytes.
	dir, err := os.MkdirTemp("", "dockertest") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{Host: "unix://" + filepath.Join(dir, "d.sock"), dir: dir}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	// It is stopped by a signal, after the test's context ends.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), path,
		"--data-root", filepath.Join(dir, "data"), "--exec-root", filepath.Join(dir, "exec"),
		"--pidfile", filepath.Join(dir, "pid"), "-H", d.Host, "--storage-driver", driver,
		"--bridge=none", "--iptables=false", "--ip6tables=false")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.pid = cmd.Process.Pid
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		_ = log.Close()
		// The engine leaves the network namespace of the host mounted.
		_ = syscall.Unmount(filepath.Join(dir, "exec", "netns", "default"), syscall.MNT_DETACH)
		if err := os.RemoveAll(dir); err != nil {
			t.Logf("remove the engine's directory: %v", err)
		}
	}
	if d.API, err = client.New(client.WithHost(d.Host)); err == nil {
		err = d.await(t, ended)
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Logf("%s", text[max(0, len(text)-2000):])
		stop()
		return nil, err
	}
	t.Cleanup(func() {
		_ = d.API.Close()
		stop()
	})
	return d, nil
}

// await pings the engine until it answers. It returns an error after startTimeout, or if the engine
// exits.
func (d *Daemon) await(t *testing.T, ended <-chan struct{}) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := d.API.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-ended:
			return err
		case <-tick.C:
		}
	}
}

// Stop suspends the engine with SIGSTOP: it exists but does not answer. Its containers keep
// running. The engine is resumed at the end of the test at the latest.
func (d *Daemon) Stop(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { _ = syscall.Kill(d.pid, syscall.SIGCONT) }) // it may have exited
	if err := syscall.Kill(d.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// On a busy machine its threads still answer until each has received the signal.
	for !d.hasStopped(t) {
		if err := wait.For(t.Context(), 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}

// hasStopped reports whether all threads of the engine are stopped.
func (d *Daemon) hasStopped(t *testing.T) bool {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", d.pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("the engine %d has no threads: %v", d.pid, err)
	}
	return !slices.ContainsFunc(threads, func(path string) bool {
		stat, err := os.ReadFile(path)
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && !strings.HasPrefix(state, "T")
	})
}

// Continue resumes a suspended engine.
func (d *Daemon) Continue(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(d.pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// Remove removes a container without the knowledge of the agent.
func (d *Daemon) Remove(t *testing.T, name string) {
	t.Helper()
	if _, err := d.API.ContainerRemove(t.Context(), name, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
}

// load imports the image.
func (d *Daemon) load(t *testing.T, busybox []byte) {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(h tar.Header, content []byte) {
		h.Size = int64(len(content))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin", "etc", "run", "dev", "proc", "sys"} {
		put(tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755}, nil)
	}
	put(tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}, nil)
	put(tar.Header{Name: "bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755}, busybox)
	for _, name := range []string{"sh", "sleep", "cat", "echo", "pwd", "head", "tr", "ls", "seq", "id", "stat", "df", "env", "true", "touch", "tar", "stty", "kill", "grep", "chmod", "mkdir", "ln", "dd", "test", "mktemp", "rm", "cut", "tail"} {
		put(tar.Header{Name: "bin/" + name, Typeflag: tar.TypeSymlink, Linkname: "busybox", Mode: 0o777}, nil)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	result, err := d.API.ImageImport(t.Context(), client.ImageImportSource{Source: &b, SourceName: "-"}, Image,
		client.ImageImportOptions{Changes: []string{"ENV PATH=/bin"}})
	if err != nil {
		t.Fatalf("import the test image: %v", err)
	}
	defer func() { _ = result.Close() }()
	if _, err := io.Copy(io.Discard, result); err != nil {
		t.Fatalf("import the test image: %v", err)
	}
}
