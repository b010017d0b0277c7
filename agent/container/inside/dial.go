package inside

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// loopbacks are the addresses at which a program may listen for "localhost".
var loopbacks = []string{"127.0.0.1", "::1"}

// DialLoopback connects to a port at loopback, of IPv4 or else of IPv6.
func DialLoopback(ctx context.Context, port int) (net.Conn, error) {
	if err := checkPort(port); err != nil {
		return nil, err
	}
	var d net.Dialer
	var first error
	for _, host := range loopbacks {
		// The dialer creates the socket in this goroutine, because the address is a literal one.
		conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, fmt.Errorf("connect to port %d of the container: %w", port, reasonOf(first))
}

func checkPort(port int) error {
	if port < 1 || port > 65535 {
		return fmt.Errorf("port %d: must be between 1 and 65535", port)
	}
	return nil
}

// reasonOf returns the error of the system call without the addresses.
func reasonOf(err error) error {
	if errno, ok := errors.AsType[unix.Errno](err); ok {
		return errno
	}
	return err
}

// DialNamespace connects to a port at loopback of a network namespace.
func DialNamespace(ctx context.Context, namespace *os.File, port int) (net.Conn, error) {
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		r.conn, r.err = dialInside(ctx, namespace, port)
		done <- r
	}()
	r := <-done
	return r.conn, r.err
}

// dialInside moves the thread of its goroutine into the namespace and back. If there is no way back,
// the goroutine remains locked, so that the thread ends with it and runs no other.
func dialInside(ctx context.Context, namespace *os.File, port int) (net.Conn, error) {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	defer func() { _ = own.Close() }()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("enter the network of the container: %w", err)
	}
	conn, err := DialLoopback(ctx, port)
	if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return conn, err
}
