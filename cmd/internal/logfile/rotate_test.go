package logfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLogFileIsRotated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.log")
	open := func(flags int) *os.File {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	r, is := Rotating(open(os.O_APPEND)).(*rotating)
	if !is {
		t.Skip("without /proc a file has no name")
	}
	r.limit = 1000
	child := open(os.O_APPEND) // like a panic or the output of a child process
	line := strings.Repeat("x", 99) + "\n"
	for range 25 {
		if _, err := r.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := child.WriteString("panic\n"); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(path)
	if err != nil || string(now) != strings.Repeat(line, 5)+"panic\n" {
		t.Errorf("got %d bytes, %v, want five lines and the output of the other writer", len(now), err)
	}
	if before, err := os.ReadFile(path + ".1"); err != nil || len(before) != 1000 {
		t.Errorf("got %d bytes kept, %v, want the ten lines before", len(before), err)
	}
	if left, _ := filepath.Glob(path + "*"); len(left) != 2 {
		t.Errorf("got %v, want the log and the one before", left)
	}
	if _, is := Rotating(open(0)).(*rotating); is {
		t.Error("a file that is not appended to is rotated")
	}
	if _, is := Rotating(&bytes.Buffer{}).(*rotating); is {
		t.Error("a writer that is not a file is rotated")
	}
}
