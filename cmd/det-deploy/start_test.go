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
// start in every command that is not the client's, on every agent and in every pod: a package
// that prepares tables, regular expressions or schemas where it is declared slows all of these.
const (
	// maxStartBytes is of all packages; it may only shrink.
	maxStartBytes = 9_300_000
	// maxEarlyStartBytes is of what has started when a command that only talks to a master
	// runs; it may only shrink, too. A third is of a library that Helm judges values by.
	maxEarlyStartBytes = 5_500_000
	// maxOwnStartBytes is of the packages of this module, most of it the messages of the API.
	maxOwnStartBytes = 600_000
)

// These tell what starts: one command is the client's, and the other is not.
var (
	clientCommand = []string{"version"}
	otherCommand  = []string{"local", "--help"}
)

// started is what one package allocated at the start.
type started struct {
	name  string
	bytes int
}

// traceStart is what the runtime traces while a command runs in this environment.
func traceStart(t *testing.T, env string, command []string) *bytes.Buffer {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program")
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, command...)
	c.Env = append(os.Environ(), env, "GOGC=100")
	var trace bytes.Buffer
	c.Stderr = &trace
	if err := c.Run(); err != nil {
		t.Fatalf("run %v: %v\n%s", command, err, &trace)
	}
	return &trace
}

// tracePackages are the packages that start before a command runs.
func tracePackages(t *testing.T, command []string) []started {
	t.Helper()
	packages := readTrace(traceStart(t, "GODEBUG=inittrace=1", command))
	if len(packages) < 100 {
		t.Fatalf("read %d packages of the trace of %v, want those of the program", len(packages), command)
	}
	return packages
}

func TestTheStartAllocatesLittle(t *testing.T) {
	t.Parallel()
	all := tracePackages(t, otherCommand)
	boundBytes(t, "all packages", all, maxStartBytes)
	boundBytes(t, "our packages", slices.DeleteFunc(all, func(p started) bool { return !strings.HasPrefix(p.name, "github.com/det-deploy/") }), maxOwnStartBytes)
	boundBytes(t, "what starts before the client's commands", tracePackages(t, clientCommand), maxEarlyStartBytes)
}

// TestACommandOfTheClientRunsBeforeOthersHaveStarted tells of an import by which the client's
// commands would wait for clouds: in which order packages start is for the linker to say.
func TestACommandOfTheClientRunsBeforeOthersHaveStarted(t *testing.T) {
	t.Parallel()
	all, early := tracePackages(t, otherCommand), tracePackages(t, clientCommand)
	if len(early) > len(all)*2/3 {
		t.Errorf("%d of %d packages have started before %v ran, want less than two thirds", len(early), len(all), clientCommand)
	}
	for _, library := range []string{"k8s.io/client-go/kubernetes/scheme", "github.com/aws/aws-sdk-go-v2/service/ec2/internal/endpoints", "helm.sh/helm/v3/pkg/chartutil"} {
		is := func(p started) bool { return p.name == library }
		if slices.ContainsFunc(early, is) {
			t.Errorf("%s has started before %v ran", library, clientCommand)
		}
		if !slices.ContainsFunc(all, is) {
			t.Errorf("%s does not start with %v: name one here that does", library, otherCommand)
		}
	}
}

// TestAShortCommandCollectsNothing also tells whether the collector rests before packages
// allocate: in which order they start is for the linker to say.
func TestAShortCommandCollectsNothing(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{clientCommand, otherCommand} {
		trace := traceStart(t, "GODEBUG=gctrace=1", command)
		// A machine so busy that this took more than a second has resumed the collector.
		if n := strings.Count(trace.String(), "gc "); n > 1 {
			t.Errorf("garbage was collected %d times within %v, want none:\n%s", n, command, trace)
		}
	}
}

// boundBytes fails when packages allocate more than they may.
func boundBytes(t *testing.T, what string, packages []started, most int) {
	t.Helper()
	total := 0
	for _, p := range packages {
		total += p.bytes
	}
	if total > most {
		t.Errorf("%s allocate %d bytes at the start, want at most %d; most by\n%s", what, total, most, largest(packages))
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
