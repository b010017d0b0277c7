package booter

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

//go:embed boot.sh
var bootScript string

// machine is a running machine.
type machine struct {
	lab      *Lab
	platform Platform
	id, dir  string
	netns    string
	groups   []string
	// loops are the host's loop devices of its disks.
	loops   []string
	console *console
	server  *http.Server
	cmd     *exec.Cmd
	// ended is closed when its init process has exited.
	ended chan struct{}
}

// boot boots the n-th machine of a lab. Metadata serves its metadata service.
func (l *Lab) boot(ctx context.Context, n int, p Platform, h Machine, metadata http.Handler) (*machine, error) {
	short := strconv.Itoa(n)
	m := &machine{
		lab: l, platform: p, id: h.ID, netns: l.Name + "-" + short, dir: filepath.Join(l.Dir, cmp.Or(h.Root, h.ID)), ended: make(chan struct{}),
	}
	err := m.prepare(ctx, short, h)
	if err == nil {
		err = m.serve(metadata)
	}
	if err == nil {
		err = m.start(ctx, h)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("boot %s: %w", h.ID, err), m.stop(ctx))
	}
	return m, nil
}

func (m *machine) prepare(ctx context.Context, short string, h Machine) (err error) {
	if err := m.network(ctx, short, h.Addresses); err != nil {
		return err
	}
	if err := disk(m.dir, m.platform, h); err != nil {
		return err
	}
	if m.groups, err = groups(m.netns); err != nil {
		return err
	}
	if m.console, err = openConsole(); err != nil {
		return err
	}
	return m.console.start()
}

// network creates the machine's network namespace and its link to the lab.
func (m *machine) network(ctx context.Context, short string, addresses []string) error {
	calls := [][]string{
		{"netns", "add", m.netns},
		{"-n", m.lab.Name, "link", "add", "v" + short, "type", "veth", "peer", "name", "eth0", "netns", m.netns},
		{"-n", m.lab.Name, "link", "set", "v" + short, "master", "br0", "up"},
		{"-n", m.netns, "link", "set", "lo", "up"},
		{"-n", m.netns, "addr", "add", "169.254.169.254/32", "dev", "lo"},
		{"-n", m.netns, "link", "set", "eth0", "up"},
	}
	for _, a := range addresses {
		calls = append(calls, []string{"-n", m.netns, "addr", "add", a + "/32", "dev", "eth0"})
	}
	calls = append(calls, []string{"-n", m.netns, "route", "add", "default", "dev", "eth0", "src", addresses[0]})
	for _, args := range calls {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// serve serves an HTTP handler in the machine's network, from outside of the machine.
func (m *machine) serve(metadata http.Handler) error {
	var l net.Listener
	err := within(m.netns, func() (err error) {
		l, err = net.Listen("tcp", "169.254.169.254:80") //nolint:noctx // it listens at once
		return err
	})
	if err != nil {
		return err
	}
	m.server = &http.Server{Handler: metadata, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = m.server.Serve(l) }() // it returns when the listener is closed
	return nil
}

func (m *machine) start(ctx context.Context, h Machine) error {
	script := filepath.Join(m.dir, "boot.sh")
	if err := os.WriteFile(script, []byte(bootScript), 0o755); err != nil { //nolint:gosec // it is a program
		return err
	}
	// It is ended by killing it, after the test's context is done.
	m.cmd = exec.CommandContext(context.WithoutCancel(ctx), script, "enter")
	m.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "ROOT=" + filepath.Join(m.dir, "root"), "DISK=" + m.dir, "TOOLS=" + m.lab.Tools, "NETNS=" + m.netns,
		"CONSOLE=" + m.console.path, "MACHINE=" + h.Hostname, "SERIAL=" + m.platform.Serial(m.id), "GROUPS_OF_MACHINE=" + strings.Join(m.groups, " "),
		"VENDOR=" + m.platform.Vendor, "PRODUCT=" + m.platform.Product,
	}
	log, err := os.Create(filepath.Join(m.dir, "boot.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the machine has its own descriptor
	m.cmd.Stdout, m.cmd.Stderr = log, log
	// If the test is killed, its machines are killed as well.
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := m.cmd.Start(); err != nil {
		return err
	}
	go func() {
		defer close(m.ended)
		_ = m.cmd.Wait() // only its exit matters
	}()
	return nil
}

// command returns a command that runs inside of the machine.
func (m *machine) command(ctx context.Context, name string, args ...string) (*exec.Cmd, error) {
	pid, err := m.init()
	if err != nil {
		return nil, err
	}
	enter := []string{"--target", pid, "--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd", name}
	return exec.CommandContext(ctx, "nsenter", append(enter, args...)...), nil
}

// init returns the process ID of the machine's init process on the host. Until it has executed
// systemd, its root is still the host's, so that a command "inside" the machine would change the
// host.
func (m *machine) init() (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", m.cmd.Process.Pid, m.cmd.Process.Pid))
	if err != nil {
		return "", err
	}
	pid, _, _ := strings.Cut(string(text), " ")
	name, err := os.ReadFile(filepath.Join("/proc", pid, "comm"))
	if err != nil || !strings.HasPrefix(string(name), "systemd") {
		return "", fmt.Errorf("%s has not started yet", m.id)
	}
	return pid, nil
}

// journal returns the log of det-deploy's units, for a failed test.
func (m *machine) journal(ctx context.Context) string {
	cmd, err := m.command(ctx, "journalctl", "--no-pager", "--output=short-iso-precise", "--lines=200", "--unit=det-deploy-*")
	if err != nil {
		return err.Error()
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return err.Error() + "\n" + string(out)
	}
	return string(out)
}

// stop kills all processes of the machine and removes its network.
func (m *machine) stop(ctx context.Context) error {
	var errs []error
	if m.cmd != nil && m.cmd.Process != nil {
		_ = m.cmd.Process.Kill() // it may have exited
		<-m.ended
	}
	if m.server != nil {
		errs = append(errs, m.server.Close())
	}
	if m.console != nil {
		m.console.close()
	}
	errs = append(errs, ungroup(ctx, m.groups), m.unplug(ctx))
	if out, err := exec.CommandContext(ctx, "ip", "netns", "del", m.netns).CombinedOutput(); err != nil {
		errs = append(errs, fmt.Errorf("remove the network of %s: %w: %s", m.id, err, out))
	}
	return errors.Join(errs...)
}
