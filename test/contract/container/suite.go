// Package containertest is the contract of container.Runtime, to be run
// against every implementation.
package containertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// deadline limits each rule; a slower one counts as broken.
const deadline = 60 * time.Second

// Cluster is the cluster of the suite's containers.
const Cluster = "contract"

// Suite runs the contract against one runtime.
type Suite struct {
	// New returns a runtime without containers and registers its clean-up with t.
	New func(t *testing.T) container.Runtime
	// Again returns a second runtime with the state of the first, as after a restart of the agent.
	Again func(t *testing.T, r container.Runtime) container.Runtime
	// Spec returns a container of Cluster that runs a script with sh.
	Spec func(id, script string) container.Spec
	// NoMounts is the reason why bind mounts cannot be tested here; empty where they can.
	NoMounts string
}

type bench struct {
	t   *testing.T
	ctx context.Context
	s   Suite
	r   container.Runtime
}

// rule is a rule of the contract.
type rule struct {
	name string
	do   func(b bench)
}

// Run runs every rule as a subtest. The subtests run in parallel, possibly on one engine, so no two
// of them use the same container ID.
func (s Suite) Run(t *testing.T) {
	for _, rule := range append([]rule{
		{"a container ends with the code of its program", bench.exitCodes},
		{"what is not there is absent, and no error", bench.absent},
		{"phases go from absent to running to ended to absent", bench.phases},
		{"output is read in order, and again from any line", bench.output},
		{"long lines are cut and a last line needs no newline", bench.longLines},
		{"a carriage return ends a line", bench.returns},
		{"many lines all arrive", bench.manyLines},
		{"output is followed while the program runs", bench.follow},
		{"kill gives 137 and leaves no descendant", bench.kill},
		{"terminate is the program's to handle", bench.terminate},
		{"a restarted agent finds, reads and awaits what runs", bench.restart},
		{"files, environment and work_dir are there", bench.surroundings},
		{"Python writes as it prints unless the task says otherwise", bench.unbuffered},
		{"a mount shows the host's directory", bench.mount},
		{"a program that does not exist never passes for success", bench.noProgram},
		{"removing ends what runs", bench.remove},
		{"waiting can be given up", bench.giveUp},
	}, append(entranceRules, fileRules...)...) {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			t.Cleanup(cancel)
			rule.do(bench{t: t, ctx: ctx, s: s, r: s.New(t)})
		})
	}
}

func (b bench) start(id, script string) {
	b.t.Helper()
	b.startSpec(b.s.Spec(id, script))
}

func (b bench) startSpec(spec container.Spec) {
	b.t.Helper()
	if err := b.prepareAndStart(spec); err != nil {
		b.t.Fatalf("start %s: %v", spec.ID, err)
	}
	b.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), deadline)
		defer cancel()
		if err := b.r.Remove(ctx, spec.ID); err != nil {
			b.t.Errorf("remove %s: %v", spec.ID, err)
		}
	})
}

func (b bench) prepareAndStart(spec container.Spec) error {
	if err := b.r.Prepare(b.ctx, spec, func(string) {}); err != nil {
		return err
	}
	return b.r.Start(b.ctx, spec)
}

func (b bench) wait(r container.Runtime, id string, want int) {
	b.t.Helper()
	got, err := r.Wait(b.ctx, id)
	if err != nil || got != want {
		b.t.Fatalf("wait for %s: got %d, %v, want %d", id, got, err, want)
	}
}

func (b bench) phase(r container.Runtime, id string, want container.Phase) {
	b.t.Helper()
	s, err := r.Inspect(b.ctx, id)
	if err != nil || s.Phase != want {
		b.t.Fatalf("inspect %s: got %s, %v, want %s", id, s.Phase, err, want)
	}
}

// lines returns all lines from a position to the end.
func (b bench) lines(r container.Runtime, id string, from container.Position) []container.Line {
	b.t.Helper()
	var out []container.Line
	err := r.Logs(b.ctx, id, from, func(lines []container.Line) error {
		for _, l := range lines {
			l.Text = bytes.Clone(l.Text)
			out = append(out, l)
		}
		return nil
	})
	if err != nil {
		b.t.Fatalf("read the output of %s: %v", id, err)
	}
	return out
}

func texts(lines []container.Line, stream string) []string {
	var out []string
	for _, l := range lines {
		if stream == "" || l.Stream == stream {
			out = append(out, string(l.Text))
		}
	}
	return out
}

// awaitLine reads the log until it finds a line with this text, and fails the test otherwise.
func (b bench) awaitLine(r container.Runtime, id, text string) {
	b.t.Helper()
	errFound := errors.New("found")
	err := r.Logs(b.ctx, id, container.Position{}, func(lines []container.Line) error {
		if slices.Contains(texts(lines, ""), text) {
			return errFound
		}
		return nil
	})
	if !errors.Is(err, errFound) {
		b.t.Fatalf("output of %s: got %v before the line %q", id, err, text)
	}
}

func (b bench) exitCodes() {
	for _, code := range []int{0, 1, 42, 255} {
		id := fmt.Sprintf("code-%d", code)
		b.start(id, fmt.Sprintf("exit %d", code))
		b.wait(b.r, id, code)
		b.wait(b.r, id, code)
	}
	b.start("signal", "kill -9 $$")
	b.wait(b.r, "signal", 137)
}

func (b bench) absent() {
	b.phase(b.r, "unknown", container.Absent)
	for _, sig := range []container.Signal{container.Terminate, container.Kill} {
		if err := b.r.Signal(b.ctx, "unknown", sig); err != nil {
			b.t.Errorf("%s: got %v, want no error", sig, err)
		}
	}
	if err := b.r.Remove(b.ctx, "unknown"); err != nil {
		b.t.Errorf("remove: got %v, want no error", err)
	}
	if _, err := b.r.Wait(b.ctx, "unknown"); !errors.Is(err, container.ErrGone) {
		b.t.Errorf("wait: got %v, want ErrGone", err)
	}
	err := b.r.Logs(b.ctx, "unknown", container.Position{}, func([]container.Line) error { return nil })
	if !errors.Is(err, container.ErrGone) {
		b.t.Errorf("logs: got %v, want ErrGone", err)
	}
}

func (b bench) phases() {
	b.start("p", "sleep 600")
	b.phase(b.r, "p", container.Running)
	if ids, err := b.r.List(b.ctx, Cluster); err != nil || !slices.Equal(ids, []string{"p"}) {
		b.t.Errorf("list: got %v, %v, want p", ids, err)
	}
	if err := b.r.Signal(b.ctx, "p", container.Kill); err != nil {
		b.t.Fatal(err)
	}
	b.wait(b.r, "p", 137)
	b.phase(b.r, "p", container.Ended)
	for _, sig := range []container.Signal{container.Terminate, container.Kill} {
		if err := b.r.Signal(b.ctx, "p", sig); err != nil {
			b.t.Errorf("%s after the end: got %v, want no error", sig, err)
		}
	}
	if err := b.r.Remove(b.ctx, "p"); err != nil {
		b.t.Fatal(err)
	}
	b.phase(b.r, "p", container.Absent)
	if ids, err := b.r.List(b.ctx, Cluster); err != nil || len(ids) != 0 {
		b.t.Errorf("list: got %v, %v, want none", ids, err)
	}
}

func (b bench) output() {
	b.start("o", `for i in 1 2 3 4 5; do echo "out $i"; echo "err $i" >&2; done`)
	all := b.lines(b.r, "o", container.Position{})
	want := []string{"1", "2", "3", "4", "5"}
	for stream, prefix := range map[string]string{container.Stdout: "out ", container.Stderr: "err "} {
		got := texts(all, stream)
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], prefix)
		}
		if !slices.Equal(got, want) {
			b.t.Errorf("%s: got %q, want %q", stream, got, want)
		}
	}
	for i, l := range all {
		if l.Next.Lines != uint64(i+1) {
			b.t.Errorf("line %d: got count %d", i, l.Next.Lines)
		}
		if l.At.IsZero() {
			b.t.Errorf("line %d has no time", i)
		}
		rest := b.lines(b.r, "o", l.Next)
		for _, stream := range []string{container.Stdout, container.Stderr} {
			if got, want := texts(rest, stream), texts(all[i+1:], stream); !slices.Equal(got, want) {
				b.t.Errorf("%s after line %d: got %q, want %q", stream, i, got, want)
			}
		}
	}
}

func (b bench) longLines() {
	script := fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; echo; head -c %d /dev/zero | tr '\0' y; echo; printf 'end'`,
		container.MaxLine+10, container.MaxLine)
	b.start("l", script)
	want := []string{
		strings.Repeat("x", container.MaxLine), strings.Repeat("x", 10),
		strings.Repeat("y", container.MaxLine), "end",
	}
	all := b.lines(b.r, "l", container.Position{})
	if got := texts(all, ""); !slices.Equal(got, want) {
		b.t.Fatalf("got %d lines of %v bytes, want 4", len(got), lengths(got))
	}
	for i, l := range all {
		if got := texts(b.lines(b.r, "l", l.Next), ""); !slices.Equal(got, want[i+1:]) {
			b.t.Errorf("after line %d: got lines of %v bytes, want %v", i, lengths(got), lengths(want[i+1:]))
		}
	}
}

// returns prints a progress bar. Each line can be resumed from, and has a separate timestamp where
// the runtime records one.
func (b bench) returns() {
	b.start("progress", `printf '10%%\r20%%\r'; sleep 1; printf '\n30%%\r\n\rend\n'`)
	want := []string{"10%", "20%", "30%", "end"}
	all := b.lines(b.r, "progress", container.Position{})
	if got := texts(all, ""); !slices.Equal(got, want) {
		b.t.Fatalf("got %q, want %q", got, want)
	}
	for i, l := range all {
		if got := texts(b.lines(b.r, "progress", l.Next), ""); !slices.Equal(got, want[i+1:]) {
			b.t.Errorf("after line %d: got %q, want %q", i, got, want[i+1:])
		}
	}
}

func lengths(lines []string) []int {
	out := make([]int, len(lines))
	for i, l := range lines {
		out[i] = len(l)
	}
	return out
}

func (b bench) manyLines() {
	const n = 20000
	b.start("m", fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done", n))
	got := texts(b.lines(b.r, "m", container.Position{}), "")
	if len(got) != n {
		b.t.Fatalf("got %d lines, want %d", len(got), n)
	}
	for i, l := range got {
		if want := fmt.Sprintf("line %d", i); l != want {
			b.t.Fatalf("line %d: got %q, want %q", i, l, want)
		}
	}
}

func (b bench) follow() {
	b.start("f", "echo ready; sleep 600")
	b.awaitLine(b.r, "f", "ready")
	b.phase(b.r, "f", container.Running)
}

func (b bench) kill() {
	b.start("k", "trap '' TERM; (sleep 600 & sleep 600) & echo ready; sleep 600; sleep 600")
	b.awaitLine(b.r, "k", "ready")
	if err := b.r.Signal(b.ctx, "k", container.Kill); err != nil {
		b.t.Fatal(err)
	}
	b.wait(b.r, "k", 137)
	if got := texts(b.lines(b.r, "k", container.Position{}), ""); !slices.Equal(got, []string{"ready"}) {
		b.t.Errorf("got output %q, want only what the program said", got)
	}
}

func (b bench) terminate() {
	b.start("handles", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done")
	b.awaitLine(b.r, "handles", "ready")
	if err := b.r.Signal(b.ctx, "handles", container.Terminate); err != nil {
		b.t.Fatal(err)
	}
	b.wait(b.r, "handles", 7)
}

func (b bench) restart() {
	b.start("r", "echo one; while [ ! -e go ]; do sleep 0.05; done; echo two; exit 5")
	b.start("ended", "exit 6")
	b.wait(b.r, "ended", 6)
	again := b.s.Again(b.t, b.r)
	ids, err := again.List(b.ctx, Cluster)
	slices.Sort(ids)
	if err != nil || !slices.Equal(ids, []string{"ended", "r"}) {
		b.t.Fatalf("list: got %v, %v, want both", ids, err)
	}
	b.awaitLine(again, "r", "one")
	b.phase(again, "r", container.Running)
	b.wait(again, "ended", 6)
	if err := again.Signal(b.ctx, "r", container.Kill); err != nil {
		b.t.Fatal(err)
	}
	b.wait(again, "r", 137)
	if got := texts(b.lines(again, "r", container.Position{}), ""); !slices.Equal(got, []string{"one"}) {
		b.t.Errorf("got output %q, want the line from before the restart", got)
	}
}

func (b bench) surroundings() {
	spec := b.s.Spec("s", "pwd; echo $WHO; cat given.txt; [ -x tool ] && ./tool; ls sub")
	spec.WorkDir = "/run/determined/work"
	spec.Env = append(spec.Env, "WHO=first", "WHO=me")
	spec.Files = []container.File{
		{Path: "/run/determined/work/given.txt", Content: []byte("given\n"), Mode: 0o644},
		{Path: "/run/determined/work/tool", Content: []byte("#!/bin/sh\necho tool runs\n"), Mode: 0o755},
		{Path: "/run/determined/work/sub", Dir: true, Mode: 0o755},
		{Path: "/run/determined/work/sub/deep/file", Content: []byte("x"), Mode: 0o600},
	}
	b.startSpec(spec)
	got := texts(b.lines(b.r, "s", container.Position{}), "")
	if len(got) != 5 || !strings.HasSuffix(got[0], "/run/determined/work") ||
		!slices.Equal(got[1:], []string{"me", "given", "tool runs", "deep"}) {
		b.t.Errorf("got %q", got)
	}
	b.wait(b.r, "s", 0)
}

func (b bench) unbuffered() {
	for id, want := range map[string]string{"1": "got 1", "": "got ", "0": "got 0"} {
		spec := b.s.Spec("unbuffered"+id, `echo "got $PYTHONUNBUFFERED"`)
		if id != "1" {
			spec.Env = append(spec.Env, "PYTHONUNBUFFERED="+id)
		}
		b.startSpec(spec)
		if got := texts(b.lines(b.r, spec.ID, container.Position{}), ""); !slices.Equal(got, []string{want}) {
			b.t.Errorf("%q: got %q, want %q", spec.Env, got, want)
		}
		b.wait(b.r, spec.ID, 0)
	}
}

func (b bench) mount() {
	if b.s.NoMounts != "" {
		b.t.Skip(b.s.NoMounts)
	}
	host := b.t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "in"), []byte("from the host\n"), 0o644); err != nil {
		b.t.Fatal(err)
	}
	// The program may run as another user.
	if err := os.Chmod(host, 0o777); err != nil {
		b.t.Fatal(err)
	}
	spec := b.s.Spec("mnt", `cat "$DATA/in" && echo back >"$DATA/out"`)
	spec.Env = append(spec.Env, "DATA=/data")
	spec.Mounts = []container.Mount{{HostPath: host, ContainerPath: "/data"}}
	b.startSpec(spec)
	b.wait(b.r, "mnt", 0)
	back, err := os.ReadFile(filepath.Join(host, "out"))
	if err != nil || string(back) != "back\n" {
		b.t.Errorf("got %q, %v on the host", back, err)
	}
}

func (b bench) noProgram() {
	spec := b.s.Spec("np", "")
	spec.Command = []string{"/no/such/program"}
	if err := b.prepareAndStart(spec); err != nil {
		if err := b.r.Remove(b.ctx, "np"); err != nil {
			b.t.Errorf("remove what never ran: %v", err)
		}
		return
	}
	b.wait(b.r, "np", 127)
	if err := b.r.Remove(b.ctx, "np"); err != nil {
		b.t.Error(err)
	}
}

func (b bench) remove() {
	b.start("rm", "sleep 600")
	if err := b.r.Remove(b.ctx, "rm"); err != nil {
		b.t.Fatal(err)
	}
	b.phase(b.r, "rm", container.Absent)
}

func (b bench) giveUp() {
	b.start("g", "sleep 600")
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	if _, err := b.r.Wait(ctx, "g"); !errors.Is(err, context.Canceled) {
		b.t.Errorf("wait: got %v, want canceled", err)
	}
	err := b.r.Logs(ctx, "g", container.Position{}, func([]container.Line) error { return nil })
	if !errors.Is(err, context.Canceled) {
		b.t.Errorf("logs: got %v, want canceled", err)
	}
}
