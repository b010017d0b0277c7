package process

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/det-deploy/det-deploy/agent/container"
)

// output returns the directory of a task that has written output.
func output(t *testing.T) (d dir, stdout *os.File) {
	t.Helper()
	d = dir(t.TempDir())
	for _, name := range []string{"stdout", "stderr"} {
		f, err := d.openFile(name, logFlags)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		if name == "stdout" {
			stdout = f
		}
	}
	return d, stdout
}

func (d dir) drained(t *testing.T, from container.Position, each func(container.Line)) {
	t.Helper()
	tail, err := d.openTail(from)
	if err != nil {
		t.Fatal(err)
	}
	defer tail.close()
	if err := tail.drainLines(func(lines []container.Line) error {
		for _, l := range lines {
			each(l)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestReadOutputIsReleased(t *testing.T) {
	t.Parallel()
	d, stdout := output(t)
	const n = 100_000
	line := strings.Repeat(".", 990)
	for i := 0; i < n; i += 1000 {
		var b bytes.Buffer
		for k := range 1000 {
			fmt.Fprintf(&b, "%d %s\n", i+k, line)
		}
		if _, err := stdout.Write(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	read, at := 0, container.Position{}
	d.drained(t, at, func(l container.Line) {
		if !bytes.HasPrefix(l.Text, fmt.Appendf(nil, "%d .", read)) {
			t.Fatalf("line %d: got %.20q", read, l.Text)
		}
		read, at = read+1, l.Next
	})
	var st unix.Stat_t
	if err := unix.Fstat(int(stdout.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	if kept := st.Blocks * 512; read != n || st.Size < 90<<20 || kept > tailKept+2*releaseStep {
		t.Errorf("after %d lines the file of %d bytes takes %d, want at most %d", read, st.Size, kept, tailKept+2*releaseStep)
	}
	if _, err := stdout.WriteString("more\n"); err != nil {
		t.Fatal(err)
	}
	var more []string
	d.drained(t, at, func(l container.Line) { more = append(more, string(l.Text)) })
	if len(more) != 1 || more[0] != "more" {
		t.Errorf("read on: got %q", more)
	}
}

// hurry extends a file beyond lagMost with a hole that uses no space, and appends a line.
func hurry(t *testing.T, f *os.File) {
	t.Helper()
	info, err := f.Stat()
	if err == nil {
		err = f.Truncate(info.Size() + lagMost + 100<<20)
	}
	if err == nil {
		_, err = f.WriteString("\nlast\n")
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOutputFarAheadOfReaderIsSkipped(t *testing.T) {
	t.Parallel()
	d, stdout := output(t)
	tail, err := d.openTail(container.Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer tail.close()
	hurry(t, stdout)
	var first, last string
	size := 0
	if err := tail.drainLines(func(lines []container.Line) error {
		for _, l := range lines {
			if last = string(l.Text); first == "" {
				first = last
			}
			size += len(l.Text)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first, "bytes of output were dropped") || last != "last" || size > 2*lagLeft {
		t.Errorf("got %.60q to %.60q in %d bytes, want that most was passed over, and the last line", first, last, size)
	}
}

// Output written while no agent ran or before the exit is read regardless of its size.
func TestBufferedOutputIsRead(t *testing.T) {
	t.Parallel()
	d, stdout := output(t)
	hurry(t, stdout)
	tail, err := d.openTail(container.Position{})
	if err != nil {
		t.Fatal(err)
	}
	defer tail.close()
	if lines, err := tail.catchUp(&tail.out); err != nil || len(lines) > 0 {
		t.Errorf("what was there before: got %v, %v", lines, err)
	}
	hurry(t, stdout)
	tail.final = true
	if lines, err := tail.catchUp(&tail.out); err != nil || len(lines) > 0 {
		t.Errorf("after the end: got %v, %v", lines, err)
	}
}
