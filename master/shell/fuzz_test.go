package shell_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/det-deploy/det-deploy/internal/stream"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/shell"
)

// echoes are streams whose programs only print a text: nothing that a fuzzer sends is run.
type echoes struct {
	rm.Streams

	text []byte
}

func (e echoes) Exec(context.Context, rm.ContainerID, stream.Program) (stream.Process, error) {
	return &echo{bytes.NewReader(e.text)}, nil
}

func (e echoes) Dial(context.Context, rm.ContainerID, int) (net.Conn, error) {
	return nil, errors.New("nothing listens")
}

type echo struct{ out io.Reader }

func (e *echo) Write(b []byte) (int, error) { return len(b), nil }
func (e *echo) CloseWrite() error           { return nil }
func (e *echo) Stdout() io.Reader           { return e.out }
func (e *echo) Stderr() io.Reader           { return bytes.NewReader(nil) }
func (e *echo) Resize(stream.Size) error    { return nil }
func (e *echo) Signal(string) error         { return nil }
func (e *echo) Wait() (int, error)          { return 0, nil }
func (e *echo) Close() error                { return nil }

// FuzzLogin sends what a client that has logged in may send: a channel with data for its opening, a request of a
// session, and packets of sftp, for whose programs there is an output. Whatever it is, the login ends after it.
func FuzzLogin(f *testing.F) {
	packet := func(kind byte, body ...byte) []byte {
		return append([]byte{0, 0, 0, byte(len(body) + 5), kind, 0, 0, 0, 1}, body...)
	}
	start := []byte{0, 0, 0, 5, 1, 0, 0, 0, 3}
	path := []byte{0, 0, 0, 2, '/', 'a'}
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	stat := []byte("81a4 7 0 0 1000000000 a\n")
	f.Add("direct-tcpip", []byte{0, 0, 0, 9}, "exec", join([]byte{0, 0, 0, 1}, []byte("x")), start, stat)
	f.Add("session", []byte(nil), "pty-req", bytes.Repeat([]byte{0xff}, 40), join(start, packet(17, path...), packet(7, path...)), stat)
	f.Add("direct-tcpip", ssh.Marshal(struct {
		Host string
		Port uint32
		From string
		At   uint32
	}{"localhost", 80, "", 0}), "env", []byte{0, 0, 0, 4}, join(start, packet(3, join(path, []byte{0, 0, 0, 1, 0, 0, 0, 0})...), packet(5, 0, 0, 0, 1, '1', 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 100)), []byte("\ncontent"))
	f.Add("", []byte(nil), "", []byte(nil), join(start, packet(3, join(path, []byte{0, 0, 0, 26, 0, 0, 0, 4, 0, 0, 1, 0xff})...), packet(6, 0, 0, 0, 1, '1', 0xff, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 'x'), packet(4, 0, 0, 0, 1, '1')), []byte("\n"))
	f.Add("", []byte(nil), "window-change", []byte{1}, join(start, packet(11, path...), packet(12, 0, 0, 0, 1, '1'), packet(9, join(path, []byte{0, 0, 0, 0x0f, 1})...)), join(bytes.TrimSuffix(stat, []byte("\n")), []byte("/\n81a4 x/\n")))
	host, key := newFuzzKey(f, 1), newFuzzKey(f, 2)
	f.Fuzz(func(t *testing.T, channel string, extra []byte, request string, payload, packets, output []byte) {
		server := shell.New(shell.Config{
			HostKey: host, KeyOf: func(rm.TaskID) (ssh.PublicKey, rm.ContainerID, bool) { return key.PublicKey(), "c", true },
			Streams: func() rm.Streams { return echoes{text: output} }, Entered: func(context.Context, rm.TaskID, string) {},
		})
		near, far := connect(t)
		served := make(chan struct{})
		go func() {
			defer close(served)
			server.Serve(t.Context(), far, "s", "127.0.0.1:1")
		}()
		defer func() { _ = near.Close(); <-served }()
		conn, channels, requests, err := ssh.NewClientConn(near, "s", &ssh.ClientConfig{
			User: "x", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.FixedHostKey(host.PublicKey()),
		})
		if err != nil {
			t.Fatal(err)
		}
		client := ssh.NewClient(conn, channels, requests)
		if len(channel)+len(extra)+len(request)+len(payload) > 1<<10 { // of one packet
			return
		}
		if c, r, err := client.OpenChannel(channel, extra); err == nil {
			go ssh.DiscardRequests(r)
			_, _ = c.SendRequest(request, true, payload)
			_ = c.Close()
		}
		s, err := client.NewSession()
		if err != nil {
			t.Fatalf("the login has ended: %v", err)
		}
		_, _ = s.SendRequest(request, true, payload)
		_ = s.Close()
		transfer(t, client, packets)
	})
}

// connect returns both ends of a connection. Both may write first, which net.Pipe does not allow.
func connect(t *testing.T) (near, far net.Conn) {
	t.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ends := make([]net.Conn, 0, 2)
	for _, fd := range pair {
		file := os.NewFile(uintptr(fd), "")
		c, err := net.FileConn(file)
		_ = file.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, c)
	}
	return ends[0], ends[1]
}

// transfer sends packets of sftp, and reads what is answered.
func transfer(t *testing.T, client *ssh.Client, packets []byte) {
	t.Helper()
	s, err := client.NewSession()
	if err != nil {
		t.Fatalf("the login has ended: %v", err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RequestSubsystem("sftp"); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = in.Write(packets)
		_ = in.Close()
	}()
	_, _ = io.Copy(io.Discard, out)
	_ = s.Close()
}

func newFuzzKey(f *testing.F, seed byte) ssh.Signer {
	f.Helper()
	s, err := ssh.NewSignerFromKey(privateKey(seed))
	if err != nil {
		f.Fatal(err)
	}
	return s
}
