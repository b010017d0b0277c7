package main

import (
	"context"
	"io"
	"net"
	"time"
)

// services are the ports of services of this machine.
type services struct {
	// echo sends back what it gets, and source sends without an end.
	echo, source int
}

func serve(ctx context.Context) (s services, err error) {
	if s.echo, err = listen(ctx, func(c net.Conn) { _, _ = io.Copy(c, c) }); err != nil {
		return s, err
	}
	s.source, err = listen(ctx, func(c net.Conn) {
		for buf := make([]byte, 256<<10); err == nil; {
			if _, err := c.Write(buf); err != nil {
				return
			}
		}
	})
	return s, err
}

func listen(ctx context.Context, serve func(net.Conn)) (port int, err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				serve(c)
				_ = c.Close() // it was served
			}()
		}
	}()
	context.AfterFunc(ctx, func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port, nil
}

// turn sends a byte and waits for its echo.
func turn(c net.Conn) (time.Duration, error) {
	began := time.Now()
	_, err := c.Write([]byte{1})
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 1))
	}
	return time.Since(began), err
}

// openings measures from the dial until the first answer.
func openings(ctx context.Context, dial dialer, port, n int) (all []time.Duration, err error) {
	for range n {
		began := time.Now()
		c, err := dial(ctx, port)
		if err != nil {
			return nil, err
		}
		_, err = turn(c)
		all = append(all, time.Since(began))
		_ = c.Close() // it was measured
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func roundTrips(ctx context.Context, dial dialer, port, n int) (all []time.Duration, err error) {
	c, err := dial(ctx, port)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // it was measured
	for range n {
		took, err := turn(c)
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	return all, nil
}

// throughput returns the rate of one stream in MB/s.
func throughput(ctx context.Context, dial dialer, port int, size int64) (float64, error) {
	c, err := dial(ctx, port)
	if err != nil {
		return 0, err
	}
	defer c.Close() //nolint:errcheck // it was measured
	began := time.Now()
	_, err = io.CopyN(io.Discard, c, size)
	return float64(size) / 1e6 / time.Since(began).Seconds(), err
}
