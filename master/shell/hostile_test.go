package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

func TestUnknownChannelsAreRefused(t *testing.T) {
	t.Parallel()
	client := newWorld(t).must()
	for _, name := range []string{"", "x11", "auth-agent@openssh.com", "forwarded-tcpip", "direct-streamlocal@openssh.com", "tun@openssh.com", strings.Repeat("n", 10_000)} {
		_, _, err := client.OpenChannel(name, []byte("anything"))
		if refused, is := errors.AsType[*ssh.OpenChannelError](err); !is || refused.Reason != ssh.UnknownChannelType {
			t.Errorf("%.20q: got %v", name, err)
		}
	}
	for _, name := range []string{"tcpip-forward", "streamlocal-forward@openssh.com", "no-more-sessions@openssh.com", "x"} {
		if ok, _, err := client.SendRequest(name, true, []byte{0, 0, 0, 9}); ok || err != nil {
			t.Errorf("%s: got %t and %v", name, ok, err)
		}
	}
}

func TestAThousandChannels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.must()
	var mu sync.Mutex
	var opened []*ssh.Session
	var refused int
	var work sync.WaitGroup
	for range 1000 {
		work.Go(func() {
			s, err := client.NewSession()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				refused++
				return
			}
			opened = append(opened, s)
		})
	}
	work.Wait()
	if len(opened) != 64 || refused != 936 {
		t.Errorf("%d sessions are opened and %d refused", len(opened), refused)
	}
	for _, s := range opened {
		_ = s.Close()
	}
	for {
		s, err := client.NewSession()
		if err != nil { // the server has not noticed yet
			runtime.Gosched()
			continue
		}
		if out, err := s.Output("echo again"); err != nil || string(out) != "again\n" {
			t.Errorf("got %q and %v afterwards", out, err)
		}
		return
	}
}

func TestFloodsOfVariables(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.session(w.must())
	accepted := 0
	for i := range 1000 {
		if s.Setenv(fmt.Sprintf("LC_%d", i), strings.Repeat("v", 900)) == nil {
			accepted++
		}
	}
	if accepted != 64 {
		t.Errorf("%d variables are accepted", accepted)
	}
	if err := s.Setenv("LANG", strings.Repeat("v", 100_000)); err == nil {
		t.Error("a long value is accepted")
	}
	if out, err := s.Output(`printf %s "$LC_63"`); err != nil || len(out) != 900 {
		t.Errorf("got %d bytes and %v", len(out), err)
	}
}

func TestLongCommandLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.must()
	s := w.session(client)
	if out, err := s.Output(": " + strings.Repeat("x", 100<<10) + "; echo done"); err != nil || string(out) != "done\n" {
		t.Errorf("got %q and %v", out, err)
	}
	for _, line := range []string{strings.Repeat("x", 121<<10), strings.Repeat("x", 250<<10), "a\x00b"} {
		s, errs := w.session(client), &bytes.Buffer{}
		s.Stderr = errs
		if err := s.Run(line); err == nil {
			t.Errorf("a line of %d bytes is run", len(line))
		}
	}
	if out, err := w.session(client).Output("echo again"); err != nil || string(out) != "again\n" {
		t.Errorf("got %q and %v afterwards", out, err)
	}
}

// The image is a stranger: its tools may answer anything, and without end.
func TestImagesThatAnswerAnything(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"echo", "echo 81a4 7 0 0 1", "echo 81a4 7 0 0 1/", "echo x y z 0 1 a/", "echo 81a4 7 0 0 99999999999999999999 a/", "yes", "yes 81a4 7 0 0 1", "yes 81a4 7 0 0 1/", "kill -9 $$", "exit 3",
	} {
		w := newWorld(t)
		w.machine.tools = t.TempDir()
		text := "#!/bin/sh\nPATH=/usr/bin:/bin\n" + `case "$2" in *stat*|*readlink*) ` + script + `;; *) /bin/sh "$@";; esac` + "\n"
		if err := os.WriteFile(filepath.Join(w.machine.tools, "sh"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		files, _ := w.files()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, _ = files.ReadDirContext(ctx, "/") // it may have no end
		cancel()
		_ = files.Close()
	}
}

// hasty is a connection whose deadlines are over soon.
type hasty struct{ net.Conn }

func (h hasty) SetDeadline(at time.Time) error {
	if at.IsZero() {
		return h.Conn.SetDeadline(at)
	}
	if left := time.Until(at); left > 31*time.Second {
		return fmt.Errorf("a client has %s to log in", left)
	}
	return h.Conn.SetDeadline(time.Now().Add(20 * time.Millisecond))
}

func TestLoginsThatNeverEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var served sync.WaitGroup
	for _, sent := range []string{"", "SSH-2.0-", "SSH-2.0-slow\r\n", strings.Repeat("x", 100), "SSH-2.0-slow\r\n\x00\x00\x00\x0c"} {
		for range 20 {
			client, server := net.Pipe()
			served.Go(func() { w.server.Serve(t.Context(), hasty{server}, "s1", "127.0.0.1:1") })
			served.Go(func() {
				_, _ = client.Write([]byte(sent))
				_, _ = client.Read(make([]byte, 1<<10)) // and nothing after it
			})
			t.Cleanup(func() { _ = client.Close() })
		}
	}
	served.Wait()
	if len(w.entered) > 0 {
		t.Error("somebody has logged in")
	}
}

func TestTwentyLoginsOfOpenSSH(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var work sync.WaitGroup
	for i := range 20 {
		work.Go(func() {
			want := fmt.Sprintf("login %d", i)
			if out, err := w.openSSH(t.TempDir(), "ssh", want, "127.0.0.1", "cat"); err != nil || out != want {
				t.Errorf("got %q and %v, want %q", out, err, want)
			}
		})
	}
	work.Wait()
}
