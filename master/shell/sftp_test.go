package shell_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// images are the tools that images have.
func images(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"coreutils": ""}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Log("busybox is not installed: its tools are not tested")
		return out
	}
	dir := t.TempDir()
	if b, err := exec.CommandContext(t.Context(), busybox, "--install", "-s", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	out["busybox"] = dir
	return out
}

// files returns a client of sftp, and a directory of its own.
func (w *world) files() (*sftp.Client, string) {
	w.t.Helper()
	c, err := sftp.NewClient(w.must())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return c, w.t.TempDir()
}

// eachImage runs a test with each kind of tools.
func eachImage(t *testing.T, test func(t *testing.T, c *sftp.Client, dir string)) {
	t.Parallel()
	for name, tools := range images(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.machine.tools = tools
			c, dir := w.files()
			test(t, c, dir)
		})
	}
}

const odd = "-a 'b' \"c\" $(touch x) `id`\n;*é"

func TestFilesAreRead(t *testing.T) {
	eachImage(t, func(t *testing.T, c *sftp.Client, dir string) {
		content := make([]byte, 3<<20+17)
		_, _ = rand.Read(content)
		name := filepath.Join(dir, odd)
		if err := os.WriteFile(name, content, 0o640); err != nil {
			t.Fatal(err)
		}
		f, err := c.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if _, err := f.WriteTo(&got); err != nil || !bytes.Equal(got.Bytes(), content) {
			t.Errorf("got %d bytes and %v, want %d", got.Len(), err, len(content))
		}
		for _, at := range []int64{2 << 20, 0, 3 << 20, 1, 3<<20 + 10} {
			part := make([]byte, 100)
			n, err := f.ReadAt(part, at)
			if !bytes.Equal(part[:n], content[at:min(at+100, int64(len(content)))]) || (err != nil && !errors.Is(err, io.EOF)) {
				t.Errorf("at %d: got %d other bytes and %v", at, n, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v for no file", err)
		}
		if _, err := c.Open(dir); err == nil {
			t.Error("a directory is read as a file")
		}
	})
}

func TestFilesAreWritten(t *testing.T) {
	eachImage(t, func(t *testing.T, c *sftp.Client, dir string) {
		content := make([]byte, 2<<20+5)
		_, _ = rand.Read(content)
		name := filepath.Join(dir, odd)
		put := func(flags int, at int64, b []byte) error {
			f, err := c.OpenFile(name, flags)
			if err != nil {
				return err
			}
			if _, err := f.Seek(at, io.SeekStart); err != nil {
				return err
			}
			_, err = f.ReadFrom(bytes.NewReader(b))
			return errors.Join(err, f.Close())
		}
		wantContent := func(want []byte) {
			t.Helper()
			if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %d bytes and %v, want %d", len(got), err, len(want))
			}
		}
		if err := put(os.O_WRONLY|os.O_TRUNC, 0, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v for a file that is not created", err)
		}
		if err := put(os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0, content); err != nil {
			t.Fatal(err)
		}
		wantContent(content)
		if err := put(os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0, nil); err == nil {
			t.Error("an existing file is created")
		}
		if err := put(os.O_WRONLY, 7, []byte("seven")); err != nil {
			t.Error(err)
		}
		copy(content[7:], "seven")
		wantContent(content)
		if err := put(os.O_WRONLY, int64(len(content))+10, []byte("end")); err != nil {
			t.Error(err)
		}
		content = append(append(content, make([]byte, 10)...), "end"...)
		wantContent(content)
		if err := put(os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0, []byte("short")); err != nil {
			t.Error(err)
		}
		wantContent([]byte("short"))
		if err := put(os.O_WRONLY|os.O_APPEND, 5, []byte("er")); err != nil {
			t.Error(err)
		}
		wantContent([]byte("shorter"))
		if err := put(os.O_WRONLY|os.O_APPEND, 2, []byte("er")); err == nil {
			t.Error("a part of an appended file is replaced")
		}
	})
}

func TestPartsInAnyOrder(t *testing.T) {
	eachImage(t, func(t *testing.T, c *sftp.Client, dir string) {
		name, want := filepath.Join(dir, "file"), make([]byte, 3<<20)
		_, _ = rand.Read(want)
		f, err := c.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		const part = 128 << 10
		for at := len(want) - part; at >= 0; at -= part {
			if _, err := f.WriteAt(want[at:at+part], int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		if i, err := f.Stat(); err != nil || i.Size() != int64(len(want)) {
			t.Errorf("got %v and %v, want everything written", i, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %d other bytes and %v", len(got), err)
		}
	})
}

func TestDirectoriesAreListed(t *testing.T) {
	eachImage(t, func(t *testing.T, c *sftp.Client, dir string) {
		if list, err := c.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("got %v and %v for an empty directory", list, err)
		}
		var want []string
		for i := range 250 {
			want = append(want, fmt.Sprintf("name %03d", i))
		}
		want = append(want, odd, ".hidden", "..x", "*")
		slices.Sort(want)
		for _, name := range want {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("nowhere", filepath.Join(dir, "zlink")); err != nil {
			t.Fatal(err)
		}
		list, err := c.ReadDir(dir)
		if err != nil || len(list) != len(want)+1 {
			t.Fatalf("got %d files and %v, want %d", len(list), err, len(want)+1)
		}
		slices.SortFunc(list, func(a, b fs.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
		for i, name := range want {
			if list[i].Name() != name || list[i].Size() != int64(len(name)) || list[i].Mode() != 0o600 {
				t.Errorf("got %q with %d bytes and %v, want %q", list[i].Name(), list[i].Size(), list[i].Mode(), name)
			}
		}
		if last := list[len(want)]; last.Mode().Type() != fs.ModeSymlink {
			t.Errorf("got %v for a link", last.Mode())
		}
		if _, err := c.ReadDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v for no directory", err)
		}
	})
}

func TestFilesAreChanged(t *testing.T) {
	eachImage(t, func(t *testing.T, c *sftp.Client, dir string) {
		a, b, link := filepath.Join(dir, odd), filepath.Join(dir, "b"), filepath.Join(dir, "link")
		in := func(name string) string { return filepath.Join(dir, name) }
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		refused := func(what string, err error) {
			t.Helper()
			if err == nil {
				t.Error(what)
			}
		}
		must(os.WriteFile(a, []byte("content"), 0o600))
		must(c.Chmod(a, 0o751))
		must(c.Chtimes(a, time.Unix(1_000_000_000, 0), time.Unix(1_000_000_000, 0)))
		must(c.Truncate(a, 3))
		must(c.Chtimes(a, time.Unix(1_000_000_000, 0), time.Unix(1_000_000_000, 0)))
		if i, err := c.Stat(a); err != nil || i.Size() != 3 || i.Mode() != 0o751 || i.ModTime().Unix() != 1_000_000_000 {
			t.Errorf("got %v and %v", i, err)
		}
		must(c.Rename(a, b))
		must(os.WriteFile(a, nil, 0o600))
		refused("a file is replaced", c.Rename(a, b))
		must(c.PosixRename(a, b))
		must(c.Mkdir(a))
		refused("a directory is replaced", c.PosixRename(b, a))
		refused("a directory is made twice", c.Mkdir(a))
		must(c.Symlink("b", link))
		refused("a link is made twice", c.Symlink("b", link))
		if to, err := c.ReadLink(link); err != nil || to != "b" {
			t.Errorf("got %q and %v", to, err)
		}
		_, err := c.ReadLink(b)
		refused("a file is a link", err)
		if i, err := c.Lstat(link); err != nil || i.Mode().Type() != fs.ModeSymlink {
			t.Errorf("got %v and %v for a link", i, err)
		}
		if i, err := c.Stat(link); err != nil || !i.Mode().IsRegular() {
			t.Errorf("got %v and %v behind a link", i, err)
		}
		must(c.Link(b, in("c")))
		must(c.RemoveDirectory(a))
		must(c.Remove(link))
		must(c.Remove(b))
		if err := c.Remove(b); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v for no file", err)
		}
		if _, err := c.Stat(in("a\x00b")); err == nil {
			t.Error("a name with a zero is taken")
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 || list[0].Name() != "c" {
			t.Errorf("got %v and %v at the end", list, err)
		}
	})
}

func TestTransfersAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client, err := sftp.NewClient(w.must())
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "file")
	for i := range 32 {
		if _, err := client.Create(name + strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Create(name); err == nil {
		t.Error("one file more is opened")
	}
}

// A file is counted until it is closed, even if no program holds it open meanwhile: parts of it are in memory.
func TestOpenFilesAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client, dir := w.files()
	var last *sftp.File
	for i := range 32 {
		f, err := client.Create(filepath.Join(dir, strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Stat(); err != nil { // the program ends
			t.Fatal(err)
		}
		last = f
	}
	name := filepath.Join(dir, "0")
	if _, err := client.Create(name); err == nil {
		t.Error("one file more is opened for writing")
	}
	if _, err := client.Open(name); err == nil {
		t.Error("one file more is opened for reading")
	}
	if _, err := client.ReadDir(dir); err == nil {
		t.Error("a directory is listed with one file more")
	}
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f, err := client.Open(name)
		if err != nil {
			t.Fatalf("got %v after a file was closed", err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		_, _ = client.Open(filepath.Join(dir, "none"))
		if _, err := client.ReadDir(dir); err != nil {
			t.Errorf("got %v after a file was closed", err)
		}
		_, _ = client.ReadDir(filepath.Join(dir, "none"))
	}
}

// openSSH runs a program of OpenSSH in a directory. Its arguments follow the options for the server.
func (w *world) openSSH(dir, name, input string, args ...string) (string, error) {
	w.t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		w.t.Skip(name + " is not installed")
	}
	l, err := (&net.ListenConfig{}).Listen(w.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { w.server.Serve(w.t.Context(), conn, "s1", "127.0.0.1:1") })
		}
	})
	defer served.Wait()
	defer func() { _ = l.Close() }()
	key, known := w.clientFiles(l.Addr().String())
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := exec.CommandContext(ctx, program, append([]string{
		"-F", "none", "-i", key, "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + known, "-o", "GlobalKnownHostsFile=/dev/null",
		"-o", "BatchMode=yes", "-o", "User=root", "-o", "Port=" + port,
	}, args...)...)
	c.Dir, c.Stdin = dir, strings.NewReader(input)
	out, err := c.CombinedOutput()
	return string(out), err
}

// clientFiles writes the key of the shell and the known host.
func (w *world) clientFiles(address string) (key, known string) {
	w.t.Helper()
	dir := w.t.TempDir()
	block, err := ssh.MarshalPrivateKey(w.private, "")
	if err != nil {
		w.t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(address)
	key, known = filepath.Join(dir, "key"), filepath.Join(dir, "known")
	line := "[" + host + "]:" + port + " " + string(ssh.MarshalAuthorizedKey(w.host))
	if err := errors.Join(os.WriteFile(key, pem.EncodeToMemory(block), 0o600), os.WriteFile(known, []byte(line), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	return key, known
}

func TestOpenSSHCopiesFiles(t *testing.T) {
	t.Parallel()
	for image, tools := range images(t) {
		for _, quick := range []string{"scp", "sftp"} {
			t.Run(image+" "+quick, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.machine.tools = tools
				here, there := t.TempDir(), t.TempDir()
				content := make([]byte, 2<<20)
				_, _ = rand.Read(content)
				tree := filepath.Join(here, "tree", "sub dir")
				if err := errors.Join(os.MkdirAll(tree, 0o755), os.WriteFile(filepath.Join(tree, "a b;c"), content, 0o755), os.WriteFile(filepath.Join(here, "tree", "empty"), nil, 0o600)); err != nil {
					t.Fatal(err)
				}
				put := func() (string, error) { return w.openSSH(here, "scp", "", "-r", "tree", "127.0.0.1:"+there+"/") }
				get := func() (string, error) { return w.openSSH(here, "scp", "", "-r", "127.0.0.1:"+there+"/tree", "back") }
				if quick == "sftp" {
					put = func() (string, error) {
						return w.openSSH(here, "sftp", "cd "+there+"\nput -R tree\n", "-b", "-", "127.0.0.1")
					}
					get = func() (string, error) {
						return w.openSSH(here, "sftp", "cd "+there+"\nget -R tree back\n", "-b", "-", "127.0.0.1")
					}
				}
				for _, run := range []func() (string, error){put, get} {
					if out, err := run(); err != nil {
						t.Fatalf("%v: %s", err, out)
					}
				}
				for _, root := range []string{filepath.Join(there, "tree"), filepath.Join(here, "back")} {
					name := filepath.Join(root, "sub dir", "a b;c")
					got, err := os.ReadFile(name)
					if err != nil || !bytes.Equal(got, content) {
						t.Errorf("%s: got %d bytes and %v", name, len(got), err)
					}
					if i, err := os.Stat(name); err != nil || i.Mode().Perm()&0o100 == 0 {
						t.Errorf("%s: got %v and %v, want a program", name, i, err)
					}
					if _, err := os.Stat(filepath.Join(root, "empty")); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

func TestOpenSSHResumes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	here, there := t.TempDir(), t.TempDir()
	content := bytes.Repeat([]byte("0123456789"), 100_000)
	write := func(dir, name string, size int) {
		if err := os.WriteFile(filepath.Join(dir, name), content[:size], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(here, "up", len(content))
	write(there, "up", 300_001)
	write(there, "down", len(content))
	write(here, "down", 300_001)
	if out, err := w.openSSH(here, "sftp", "cd "+there+"\nreput up\nreget down\n", "-b", "-", "127.0.0.1"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{filepath.Join(there, "up"), filepath.Join(here, "down")} {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: got %d bytes and %v", name, len(got), err)
		}
	}
}

func TestOldScpWithoutScpInTheImage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.machine.tools = images(t)["busybox"]
	if w.machine.tools == "" {
		t.Skip("needs an image without scp")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := w.openSSH(dir, "scp", "", "-O", "a", "127.0.0.1:"+dir+"/b"); err == nil || !strings.Contains(out, "has no scp; use scp without -O") {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestLargeFilesAreNotHeldInMemory(t *testing.T) {
	w := newWorld(t)
	here, there := t.TempDir(), t.TempDir()
	const size = 100 << 20
	for _, name := range []string{filepath.Join(here, "up"), filepath.Join(there, "down")} {
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
			t.Fatal(err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if out, err := w.openSSH(here, "sftp", "cd "+there+"\nput up\nget down\n", "-b", "-", "127.0.0.1"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	runtime.ReadMemStats(&after)
	if more := after.Sys - before.Sys; more > size/2 {
		t.Errorf("%d bytes of memory were needed", more)
	}
	for _, name := range []string{filepath.Join(there, "up"), filepath.Join(here, "down")} {
		if i, err := os.Stat(name); err != nil || i.Size() != size {
			t.Errorf("%s: got %v and %v", name, i, err)
		}
	}
}
