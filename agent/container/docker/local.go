package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	engine "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container/inside"
)

// errElsewhere is returned if the process IDs of the engine are not those of this machine.
var errElsewhere = errors.New("the Docker Engine runs its containers on another machine than the agent")

// isIn reports whether a process of this machine is in a container of the engine. An ID that the
// engine reports is another process's, or nobody's, if the engine is on another machine.
func isIn(c engine.InspectResponse, pid int) bool {
	at, err := os.Open("/proc/" + strconv.Itoa(pid))
	if err != nil {
		return false
	}
	defer func() { _ = at.Close() }()
	return holds(at, c)
}

// holds reports whether the process of an open directory of /proc is in a container: the names of its
// control groups contain the container's ID.
func holds(process *os.File, c engine.InspectResponse) bool {
	fd, err := unix.Openat(int(process.Fd()), "cgroup", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	f := os.NewFile(uintptr(fd), "cgroup")
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return err == nil && len(c.ID) >= idLength && strings.Contains(string(data), c.ID)
}

// idLength is the length of the engine's container IDs. A shorter text could be part of any name.
const idLength = 64

// openNamespace opens the network namespace of a container.
func openNamespace(c engine.InspectResponse) (*os.File, error) {
	process, err := os.Open("/proc/" + strconv.Itoa(c.State.Pid))
	if err != nil {
		return nil, errElsewhere
	}
	defer func() { _ = process.Close() }()
	fd, err := unix.Openat(int(process.Fd()), "ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	// The open directory remains that of the process when its ID is reused.
	if !holds(process, c) {
		if err == nil {
			_ = unix.Close(fd)
		}
		return nil, errElsewhere
	}
	if err != nil {
		return nil, fmt.Errorf("open the network of the container: %w", err)
	}
	return os.NewFile(uintptr(fd), "net"), nil
}

// Signal sends a signal to the processes of the program's session and their descendants.
func (e *execution) Signal(name string) error {
	sig, err := inside.SignalNumber(name)
	if err != nil {
		return err
	}
	ctx, cancel := e.asking()
	defer cancel()
	return e.signal(ctx, sig)
}

// signal finds the processes on this machine, because the engine can signal only the container's first
// one.
func (e *execution) signal(ctx context.Context, sig unix.Signal) error {
	state, err := e.inspect(ctx)
	if err != nil {
		return err
	}
	if state.PID == 0 {
		return nil
	}
	belongs := func(pid int) bool { return isIn(e.container, pid) }
	members := inside.Members(state.PID, belongs)
	if len(members) == 0 && state.Running && !belongs(e.container.State.Pid) {
		return errElsewhere
	}
	if sig == unix.SIGKILL {
		err = inside.KillMembers(state.PID, belongs)
	} else {
		err = inside.SignalAll(members, sig)
	}
	if errors.Is(err, unix.EPERM) {
		return e.signalInside(ctx, members, sig)
	}
	return err
}

// signalInside sends a signal with the container's shell, which may where this agent may not.
func (e *execution) signalInside(ctx context.Context, pids []int, sig unix.Signal) error {
	argv := []string{"/bin/sh", "-c", `kill -s "$0" "$@"`, strings.TrimPrefix(unix.SignalName(sig), "SIG")}
	for _, pid := range pids {
		if inner := innerPID(pid); inner != "" {
			argv = append(argv, inner)
		}
	}
	made, err := e.r.api.ExecCreate(ctx, e.container.ID, client.ExecCreateOptions{Cmd: argv})
	if err != nil {
		return translateError(err)
	}
	_, err = e.r.api.ExecStart(ctx, made.ID, client.ExecStartOptions{Detach: true})
	return translateError(err)
}

// innerPID returns the ID of a process in its own PID namespace.
func innerPID(pid int) string {
	f, err := os.Open(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if ids, found := strings.CutPrefix(lines.Text(), "NSpid:"); found {
			all := strings.Fields(ids)
			return all[max(0, len(all)-1)]
		}
	}
	return ""
}

// Close ends the program and what it left in its session.
func (e *execution) Close() (err error) {
	e.closing.Do(func() {
		close(e.closed)
		ctx, cancel := e.asking()
		defer cancel()
		if err = e.signal(ctx, unix.SIGKILL); err != nil {
			err = fmt.Errorf("end the program, which may run until its container ends: %w", err)
		}
		_, _ = e.stdout.Close(), e.stderr.Close() // closing a pipe never fails
		e.conn.Close()
		<-e.ended
	})
	return err
}
