// Package master starts a master of its own for a measurement, in a directory that goes
// with it, and looks at the process from outside.
package master

import (
	"bufio"
	"bytes"
	"context"
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

	"github.com/det-deploy/det-deploy/master/api/client"
)

// Password is the administrator's.
const Password = "Correct-Horse-7"

// Master is one that runs. Its data are below Dir, and its log is Dir/master.log.
type Master struct {
	Dir, Addr, Token string
	API              *client.Client
	// HTTP is what Ask calls with.
	HTTP *http.Client
	cmd  *exec.Cmd
}

// Start runs bin with the lines of more in its master.yaml, and logs in.
func Start(ctx context.Context, bin, more string) (*Master, error) {
	dir, err := os.MkdirTemp("", "det-deploy-bench-")
	if err != nil {
		return nil, err
	}
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	m := &Master{Dir: dir, Addr: addr, HTTP: http.DefaultClient}
	return m, m.run(ctx, bin, more)
}

func (m *Master) run(ctx context.Context, bin, more string) error {
	if err := m.spawn(ctx, bin, more); err != nil {
		return err
	}
	if err := m.login(ctx); err != nil {
		return errors.Join(fmt.Errorf("%w; its log is in %s", err, m.Dir), m.cmd.Process.Kill(), m.cmd.Wait())
	}
	return nil
}

// Restart ends it, calls between with the path of its database, and starts it again. It
// returns the time from the start until the master has answered a login.
func (m *Master) Restart(ctx context.Context, bin, more string, between func(database string) error) (time.Duration, error) {
	err := m.end()
	if err == nil {
		err = between(filepath.Join(m.Dir, "master", "master.db"))
	}
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = m.run(ctx, bin, more)
	return time.Since(began), err
}

// URL is where it answers.
func (m *Master) URL() string { return "http://" + m.Addr }

func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func (m *Master) spawn(ctx context.Context, bin, more string) error {
	_, port, _ := net.SplitHostPort(m.Addr)
	config := fmt.Sprintf("bind_ip: 127.0.0.1\nport: %s\ndata_dir: %s/master\n%s\n"+
		"security: {tls: \"off\", initial_user_password: %s}\n", port, m.Dir, more, Password)
	file := filepath.Join(m.Dir, "master.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(m.Dir, "master.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	m.cmd = exec.CommandContext(ctx, bin, "master", "run", "--config-file", file)
	m.cmd.Stdout, m.cmd.Stderr = log, log
	return m.cmd.Start()
}

func (m *Master) login(ctx context.Context) error {
	api, err := client.New(client.Config{URL: m.URL()})
	if err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 30*time.Second; Pause(ctx, 10*time.Millisecond) {
		in, tried := api.Login(ctx, "admin", Password)
		if err = tried; err == nil {
			m.Token = in.GetToken()
			m.API, err = client.New(client.Config{URL: m.URL(), Token: m.Token})
			return err
		}
	}
	return err
}

// Stop ends it and removes its directory.
func (m *Master) Stop() error {
	return errors.Join(m.end(), os.RemoveAll(m.Dir))
}

func (m *Master) end() error {
	err := m.cmd.Process.Signal(syscall.SIGTERM)
	_ = m.cmd.Wait() // how it ends is not what is measured
	return err
}

// Memory is the bytes that the process has made: pages of the program and of the
// database's file, which the kernel takes back when it needs them, are not in it.
func (m *Master) Memory() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", m.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if key, value, _ := strings.Cut(s.Text(), ":"); key == "Anonymous" {
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return n << 10, err
		}
	}
	return 0, errors.New("the kernel does not say what memory a process has made")
}

// CPU is the processor time that it has used, from the kernel, which counts in hundredths
// of a second.
func (m *Master) CPU() time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
	fields := strings.Fields(string(text))
	if len(fields) < 15 {
		return 0
	}
	user, _ := strconv.Atoi(fields[13])
	system, _ := strconv.Atoi(fields[14])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// LogSize is the bytes of its own log.
func (m *Master) LogSize() (int64, error) {
	s, err := os.Stat(filepath.Join(m.Dir, "master.log"))
	if err != nil {
		return 0, err
	}
	return s.Size(), nil
}

// Pause waits, unless ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// clockTick is what the kernel counts processor time in, on every Linux of ours.
const clockTick = 10 * time.Millisecond

// Processor is the processor time that the process has taken. On a machine that others
// use, it says more than how long something took.
func (m *Master) Processor() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const user, system = 11, 12 // behind the name
	var ticks int64
	for _, i := range []int{user, system} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}
