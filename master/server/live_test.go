package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/certificate"
)

// read sends a request and reads the response to its end.
func read(t testing.TB, client *http.Client, url, token string) error {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end or abandoned
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("got %s", resp.Status)
	}
	return nil
}

func openStream(t *testing.T, client *http.Client, url, token string) (*bufio.Scanner, *http.Response) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return bufio.NewScanner(resp.Body), resp
}

func TestStreamsArriveLineByLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hs := w.serve(t)
	lines, resp := openStream(t, hs.Client(), hs.URL+"/api/v1/tasks/t1/logs?follow=true", w.user)
	if len(resp.TransferEncoding) != 1 || resp.TransferEncoding[0] != "chunked" {
		t.Errorf("got transfer encoding %v, want chunked", resp.TransferEncoding)
	}
	next := func(want string) {
		t.Helper()
		if !lines.Scan() || !strings.Contains(squeeze(lines.Text()), want) {
			t.Fatalf("got %q, %v, want %q", lines.Text(), lines.Err(), want)
		}
	}
	next(`{"result":{"id":"0"`)
	next(`{"result":{"id":"1"`)
	w.cluster.follow <- "later"
	next(`later\n"`)
	close(w.cluster.follow)
	next(`{"error":{"grpc_code":13,"http_code":500,"message":"the disk is on fire","http_status":"Internal Server Error"}}`)
	if lines.Scan() {
		t.Errorf("got %q after the end", lines.Text())
	}
}

func TestAPreemptionSignalEndsTheWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hs := w.serve(t)
	go close(w.cluster.preempt)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, hs.URL+"/api/v1/allocations/t1.1/signals/preemption?timeout_seconds=60", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Grpc-Metadata-x-allocation-token", "Bearer "+w.task)
	resp, err := hs.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end or abandoned
	b, err := io.ReadAll(resp.Body)
	if err != nil || squeeze(string(b)) != `{"preempt":true}` {
		t.Errorf("got %s, %v, want a signal", b, err)
	}
}

// run starts a server on a real port, as the master does.
func (w *world) run(t *testing.T) (addr string, stop func() error) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, l) }()
	return l.Addr().String(), func() error { cancel(); return <-done }
}

func TestStoppingEndsStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, stop := w.run(t)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	lines, _ := openStream(t, client, "http://"+addr+"/api/v1/tasks/t1/logs?follow=true", w.user)
	for range 2 {
		if !lines.Scan() {
			t.Fatal("got no lines")
		}
	}
	begun := time.Now()
	if err := stop(); err != nil {
		t.Errorf("got %v, want a clean stop", err)
	}
	if took := time.Since(begun); took >= stopTime {
		t.Errorf("stopping took %v; the stream held it up", took)
	}
	if lines.Scan() {
		t.Errorf("got %q after the stop", lines.Text())
	}
}

func TestSlowClientDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	addr, stop := w.run(t)
	slow, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(slow, "POST /api/v1/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
	client := &http.Client{Transport: &http.Transport{}}
	if err := read(t, client, "http://"+addr+"/api/v1/me", w.user); err != nil {
		t.Errorf("got %v, want an answer", err)
	}
	client.CloseIdleConnections()
	if err := slow.Close(); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Errorf("got %v, want a clean stop", err)
	}
}

func TestTLSWithPrivateCA(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	ca, err := certificate.OpenAuthority(dir, []string{"master.lab"}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Certificate = ca
	addr, stop := w.run(t)
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	for _, name := range []string{"", "master.lab"} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: name}}}
		if err := read(t, client, "https://"+addr+"/api/v1/me", w.user); err != nil {
			t.Errorf("as %q: got %v, want an answer", name, err)
		}
		client.CloseIdleConnections()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestConnectionLimitsConcurrentStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	ca, err := certificate.OpenAuthority(dir, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Certificate = ca
	addr, stop := w.run(t)
	pem, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}}}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprint(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	if got := streamsAllowed(t, conn); got != streamsEach {
		t.Errorf("got %d calls at a time, want %d", got, streamsEach)
	}
	if err := errors.Join(conn.Close(), stop()); err != nil {
		t.Error(err)
	}
}

// streamsAllowed returns the stream limit in the server's first HTTP/2 frame, the settings.
func streamsAllowed(t testing.TB, from io.Reader) uint32 {
	t.Helper()
	head := make([]byte, 9) // three bytes of length, and the frame type
	if _, err := io.ReadFull(from, head); err != nil || head[3] != 4 {
		t.Fatalf("got %x and %v, want a frame of settings", head, err)
	}
	settings := make([]byte, int(head[1])<<8|int(head[2]))
	if _, err := io.ReadFull(from, settings); err != nil {
		t.Fatal(err)
	}
	for s := range slices.Chunk(settings, 6) {
		if binary.BigEndian.Uint16(s) == 3 { // SETTINGS_MAX_CONCURRENT_STREAMS
			return binary.BigEndian.Uint32(s[2:])
		}
	}
	return 0
}
