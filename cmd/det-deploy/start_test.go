package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What the packages of the program allocate before its first line, in bytes. All of them
// start in every command, on every agent and in every pod: a package that prepares
// tables, regular expressions or schemas where it is declared slows all of these.
const (
	// maxStartBytes is of all packages; it may only shrink.
	maxStartBytes = 9_300_000
	// maxOwnStartBytes is of the packages of this module, most of it the messages of the API.
	maxOwnStartBytes = 600_000
)

// started is what one package allocated at the start.
type started struct {
	name  string
	bytes int
}

// traceVersion is what the runtime traces while the command version runs in this environment.
func traceVersion(t *testing.T, env ...string) *bytes.Buffer {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, "version")
	c.Env = append(os.Environ(), env...)
	var trace bytes.Buffer
	c.Stderr = &trace
	if err := c.Run(); err != nil {
		t.Fatalf("run version: %v\n%s", err, &trace)
	}
	return &trace
}

func TestTheStartAllocatesLittle(t *testing.T) {
	t.Parallel()
	trace := traceVersion(t, "GODEBUG=inittrace=1")
	packages := readTrace(trace)
	if len(packages) < 100 {
		t.Fatalf("read %d packages of the trace, want those of the program", len(packages))
	}
	total, own := 0, 0
	for _, p := range packages {
		total += p.bytes
		if strings.HasPrefix(p.name, "github.com/det-deploy/") {
			own += p.bytes
		}
	}
	if total > maxStartBytes {
		t.Errorf("the start allocates %d bytes, want at most %d; most by\n%s", total, maxStartBytes, largest(packages))
	}
	if own > maxOwnStartBytes {
		packages = slices.DeleteFunc(packages, func(p started) bool { return !strings.HasPrefix(p.name, "github.com/det-deploy/") })
		t.Errorf("our packages allocate %d bytes at the start, want at most %d; most by\n%s", own, maxOwnStartBytes, largest(packages))
	}
}

// TestAShortCommandCollectsNothing also tells whether the collector rests before packages
// allocate: in which order they start is for the linker to say.
func TestAShortCommandCollectsNothing(t *testing.T) {
	t.Parallel()
	trace := traceVersion(t, "GODEBUG=gctrace=1", "GOGC=100")
	// A machine so busy that this took more than a second has resumed the collector.
	if n := strings.Count(trace.String(), "gc "); n > 1 {
		t.Errorf("garbage was collected %d times within a short command, want none:\n%s", n, trace)
	}
}

// readTrace reads lines such as "init regexp @1.2 ms, 0.1 ms clock, 544 bytes, 3 allocs".
func readTrace(trace *bytes.Buffer) []started {
	var out []started
	for s := bufio.NewScanner(trace); s.Scan(); {
		var p started
		var at, took float64
		if n, _ := fmt.Sscanf(s.Text(), "init %s @%f ms, %f ms clock, %d bytes", &p.name, &at, &took, &p.bytes); n == 4 {
			out = append(out, p)
		}
	}
	return out
}

// largest is a line for each of the ten packages that allocated most.
func largest(all []started) string {
	slices.SortFunc(all, func(a, b started) int { return cmp.Compare(b.bytes, a.bytes) })
	var b strings.Builder
	for _, p := range all[:min(10, len(all))] {
		fmt.Fprintf(&b, "%9d %s\n", p.bytes, p.name)
	}
	return b.String()
}
