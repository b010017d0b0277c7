package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/det-deploy/det-deploy/master/api/client"
)

const password = "Correct-Horse-7"

// master is one in a folder that goes with it.
type master struct {
	dir, addr, token string
	cmd              *exec.Cmd
}

func start(ctx context.Context, bin string) (*master, error) {
	dir, err := os.MkdirTemp("", "det-deploy-flood-")
	if err != nil {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &master{dir: dir, addr: l.Addr().String()}
	if err := l.Close(); err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(m.addr)
	config := fmt.Sprintf("bind_ip: 127.0.0.1\nport: %s\ndata_dir: %s/master\nsecurity: {tls: \"off\", initial_user_password: %s}\n", port, dir, password)
	if err := os.WriteFile(filepath.Join(dir, "master.yaml"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "master.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	m.cmd = exec.CommandContext(ctx, bin, "master", "run", "--config-file", dir+"/master.yaml")
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	return m, m.login(ctx)
}

func (m *master) login(ctx context.Context) error {
	api, err := client.New(client.Config{URL: "http://" + m.addr})
	if err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 30*time.Second; pause(ctx, 20*time.Millisecond) {
		in, tried := api.Login(ctx, "admin", password)
		if err = tried; err == nil {
			m.token = in.GetToken()
			return nil
		}
	}
	return fmt.Errorf("%w; its log is in %s", err, m.dir)
}

func (m *master) stop() error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	_ = m.cmd.Wait() // how it ends is not what is measured
	return os.RemoveAll(m.dir)
}

// memory is what the process has to itself: pages of the program, which others share,
// and of the database's file, which the kernel takes back, are not in it.
func (m *master) memory() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", m.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	var sum int64
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if key, value, _ := strings.Cut(s.Text(), ":"); strings.HasPrefix(key, "Private_") {
			n, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			sum += n << 10
		}
	}
	return sum, nil
}

// during floods for a while, and returns the most memory that was seen.
func (m *master) during(ctx context.Context, lasting time.Duration, f flood) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	var failed error
	var flooding sync.WaitGroup
	flooding.Go(func() {
		if failed = f.do(ctx, m); failed != nil {
			cancel()
		}
	})
	var most int64
	for ctx.Err() == nil {
		n, err := m.memory()
		if err != nil {
			cancel()
			flooding.Wait()
			return 0, err
		}
		most = max(most, n)
		pause(ctx, 100*time.Millisecond)
	}
	flooding.Wait()
	return most, failed
}

// settled waits until no more than enough is left, or for as long as it may take.
func (m *master) settled(ctx context.Context, enough int64, limit time.Duration) (left int64, took time.Duration, err error) {
	for began := time.Now(); ; pause(ctx, time.Second) {
		left, err = m.memory()
		if took = time.Since(began); err != nil || left <= enough || took >= limit || ctx.Err() != nil {
			return left, took, err
		}
	}
}

func (m *master) logSize() (int64, error) {
	s, err := os.Stat(filepath.Join(m.dir, "master.log"))
	if err != nil {
		return 0, err
	}
	return s.Size(), nil
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
