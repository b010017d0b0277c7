package pods_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/shell"
)

// testShell logs in to a pod by SSH.
func testShell(t *testing.T, m *master, c rm.ContainerID) {
	client := logIn(t, m, c)
	t.Run("a terminal is resized", func(t *testing.T) {
		s, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.StdoutPipe()
		if err == nil {
			err = s.RequestPty("xterm", 24, 80, nil)
		}
		if err == nil {
			err = s.Start(`echo ready; until [ "$(stty size 2>&1)" = "33 91" ]; do sleep 0.1; done; echo sized; exit 3`)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, len("ready\r\n"))); err != nil {
			t.Fatal(err)
		}
		if err := s.WindowChange(33, 91); err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(out)
		if err := s.Wait(); err == nil || !strings.Contains(err.Error(), "status 3") || string(b) != "sized\r\n" {
			t.Errorf("got %q and %v", b, err)
		}
	})
	t.Run("files are copied", func(t *testing.T) {
		files, err := sftp.NewClient(client)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = files.Close() }()
		want, name := make([]byte, 3<<20+1), "/tmp/it's $(odd)"
		_, _ = rand.Read(want)
		f, err := files.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.ReadFrom(bytes.NewReader(want)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f, err = files.Open(name); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := f.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("got %d bytes and %v", got.Len(), err)
		}
		_ = f.Close()
		if err := files.Rename(name, "/tmp/named"); err != nil {
			t.Error(err)
		}
		if i, err := files.Stat("/tmp/named"); err != nil || i.Size() != int64(len(want)) {
			t.Errorf("got %v and %v", i, err)
		}
	})
	t.Run("a port is forwarded", func(t *testing.T) {
		conn, err := client.Dial("tcp", "localhost:8080")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /page HTTP/1.0\r\n\r\n")
		if b, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(b), "served\n") {
			t.Errorf("got %q and %v", b, err)
		}
	})
}

// logIn returns a login to a container.
func logIn(t *testing.T, m *master, c rm.ContainerID) *ssh.Client {
	t.Helper()
	key, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		t.Fatal(err)
	}
	server := shell.New(shell.Config{
		HostKey: key, KeyOf: func(rm.TaskID) (ssh.PublicKey, rm.ContainerID, bool) { return key.PublicKey(), c, true },
		Streams: func() rm.Streams { return m.rm }, Entered: func(context.Context, rm.TaskID, string) {},
	})
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if conn, err := l.Accept(); err == nil {
			server.Serve(t.Context(), conn, "s", "127.0.0.1:1")
		}
	}()
	client, err := ssh.Dial("tcp", l.Addr().String(), &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: ssh.FixedHostKey(key.PublicKey()),
	})
	_ = l.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(); <-served })
	return client
}
