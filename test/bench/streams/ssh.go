package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/internal/wait"
)

// forwarding is an ssh client that forwards ports to a server on the same machine.
type forwarding struct {
	ports          map[int]int
	server, client *exec.Cmd
}

// forwardBySSH starts an sshd and an ssh of its own in dir. It returns an error if the machine has none.
func forwardBySSH(ctx context.Context, dir string, ports ...int) (*forwarding, error) {
	sshd, err := exec.LookPath("sshd")
	if err != nil {
		return nil, err
	}
	key := filepath.Join(dir, "key")
	if out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("ssh-keygen: %w: %s", err, out)
	}
	at, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	f := &forwarding{ports: map[int]int{}}
	f.server = exec.CommandContext(ctx, sshd, "-D", "-e", "-f", "/dev/null", "-h", key, "-p", strconv.Itoa(at), "-o", "ListenAddress=127.0.0.1",
		"-o", "AuthorizedKeysFile="+key+".pub", "-o", "StrictModes=no", "-o", "PermitRootLogin=yes", "-o", "PidFile=none", "-o", "UsePAM=no")
	args := []string{"-N", "-i", key, "-p", strconv.Itoa(at), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ExitOnForwardFailure=yes", "-o", "ConnectionAttempts=20"}
	for _, port := range ports {
		local, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		args = append(args, "-L", fmt.Sprintf("127.0.0.1:%d:127.0.0.1:%d", local, port))
		f.ports[port] = local
	}
	f.client = exec.CommandContext(ctx, "ssh", append(args, "127.0.0.1")...)
	if err := errors.Join(f.server.Start(), f.client.Start()); err != nil {
		return nil, err
	}
	return f, f.await(ctx, ports[0])
}

func (f *forwarding) await(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		c, err := f.dial(ctx, port)
		if err == nil {
			_, err = turn(c)
			_ = c.Close() // it was tried
		}
		if err == nil {
			return nil
		}
		if wait.For(ctx, 20*time.Millisecond) != nil {
			f.stop()
			return fmt.Errorf("ssh does not forward: %w", err)
		}
	}
}

func (f *forwarding) dial(ctx context.Context, port int) (net.Conn, error) {
	return direct(ctx, f.ports[port])
}

func (f *forwarding) stop() {
	for _, cmd := range []*exec.Cmd{f.client, f.server} {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	}
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
