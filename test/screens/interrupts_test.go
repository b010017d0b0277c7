package screens_test

import (
	"cmp"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/det-deploy/det-deploy/test/golden"
	"github.com/det-deploy/det-deploy/test/terminal"
)

// interrupt is a command in which a person presses Ctrl-C.
type interrupt struct {
	about string
	args  []string
	// at is a master that the command talks to and that is stuck; nil is the cluster.
	at *stuck
	// until is the text on the screen before Ctrl-C, and again that before another one.
	until, again string
	// code is the exit code if it is not that of an interrupted program.
	code int
	// lists is a command that lists the object afterwards, or does not.
	lists []string
	has   string
	lacks string
}

const (
	interrupted = 130
	continued   = 3
)

// interrupts are pressed in this order. The person's cluster has the task "sleeper", and "waiter" waits for its slots.
func interrupts(p *person) []interrupt {
	words, history := strings.Fields, strings.Fields("task list --all")
	up := func(id string, flags ...string) []string {
		return append(words("local up --agents 0 --db-url-file dead-database --port "+p.port()+" --cluster-id "+id), flags...)
	}
	run := func(flags, command string) []string { return append(words("task run "+flags+" --"), command) }
	return []interrupt{
		{about: "a task that waits", args: run("--slots 2 --name waits", "true"), until: "Waiting: ", lists: history, has: "waits"},
		{about: "a task that runs", args: run("--slots 0 --name runs", "echo begun; sleep 100000"), until: "begun", lists: history, has: "runs"},
		{about: "a task that does not stop, twice", args: run("--slots 0 --name stays", "trap '' TERM; echo begun; while :; do sleep 1; done"), until: "begun", again: "Ctrl-C again"},
		{about: "a wait for a task", args: words("task wait sleeper"), until: "is running"},
		{about: "the log of a task", args: words("task logs --follow sleeper"), until: "asleep"},
		{about: "a wait for an experiment", args: words("experiment wait first"), until: "is paused"},
		{about: "top", args: words("top"), until: "asleep"},
		{about: "a list that is watched", args: words("task list --watch"), until: "sleeper"},
		{about: "the log of the master", args: words("master logs --follow"), at: p.stuckAt("/master/logs")},
		{about: "the audit log", args: words("audit --follow --action agent."), until: "agent.join"},
		{about: "a master that does not answer", args: words("agent list"), at: p.stuckAt("/agents")},
		{about: "the question before a deletion", args: words("experiment delete 1"), until: "[y/N]", lists: words("experiment list"), has: "first"},
		{about: "a new password", args: words("user create eve"), until: "password for eve:", lists: words("user list"), lacks: "eve"},
		{about: "the password of a login", args: words("login ada --master " + p.c.URL), until: "Password for ada:"},
		{about: "files on their way to the master", args: run("--name sent --context big", "true"), at: p.stuckAt("/pieces"), until: "Sending files", lists: history, lacks: "sent"},
		{about: "files on their way from the master", args: words("checkpoint download " + checkpoint), at: p.stuckAt(files), until: "Downloading"},
		{about: "the plan of a cluster", args: up("asked"), until: "[y/N]", lists: words("list"), lacks: "asked"},
		{about: "the first step of a cluster", args: up("half", "--yes"), until: "1/8 ", code: continued},
		{about: "a later step of the same cluster", args: up("half", "--yes"), until: "1/", code: continued},
		{about: "the wait for the same cluster", args: up("half", "--yes"), until: "… create local/master/master", code: continued},
		{about: "the question before a cluster is removed", args: words("local down --cluster-id nearby"), until: "[y/N]", lists: words("list"), has: "nearby"},
		{about: "the same on any platform", args: words("down --cluster-id nearby --delete-data"), until: "to continue:", lists: words("list"), has: "nearby"},
	}
}

var goText = regexp.MustCompile(`context canceled|signal|rpc error|dial tcp|EOF|panic|goroutine|broken pipe`)

func TestInterruptsAreQuiet(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.furnish()
	p.put("big/file", 16<<20)
	t.Cleanup(func() { p.run("local", "down", "--yes", "--cluster-id", "half", "--delete-data") })
	var b strings.Builder
	for _, i := range interrupts(p) {
		said, code := p.interrupts(i)
		if i.code == continued {
			said = how(said) // at which step it stops differs
		}
		fmt.Fprintf(&b, "# %s\n$ det-deploy %s\n%sexit code %d\n\n", i.about, strings.Join(i.args, " "), said, code)
		if goText.MatchString(said) {
			t.Errorf("%s: %q helps nobody:\n%s", i.about, goText.FindString(said), said)
		}
		if want := cmp.Or(i.code, interrupted); code != want {
			t.Errorf("%s: got exit code %d, want %d:\n%s", i.about, code, want, said)
		}
		p.looks(i)
	}
	golden.Compare(t, "testdata/interrupts.golden", p.settled(b.String()))
}

// interrupts runs a command, presses Ctrl-C, and returns the lines that this added to the screen and the exit
// code.
func (p *person) interrupts(i interrupt) (said string, code int) {
	p.t.Helper()
	s, c := open(p.t), p.command(p.c.Bin, i.args...)
	if i.at != nil {
		c.Env = append(c.Env, "DET_MASTER="+i.at.url)
	}
	s.Start(c)
	if i.until == "" {
		<-i.at.called
	} else {
		s.Await(has(i.until))
	}
	before := s.Screen()
	s.Type(terminal.Key("ctrl+c"))
	if i.again != "" {
		s.Await(has(i.again))
		s.Type(terminal.Key("ctrl+c"))
	}
	err := s.End(c)
	return p.added(before, s.Screen()), exitCode(err)
}

// how returns the lines of an interrupted plan that tell how it is continued.
func how(said string) string {
	var b strings.Builder
	for _, text := range []string{"error: interrupted: ", "to continue"} {
		if strings.Contains(said, text) {
			b.WriteString("… " + strings.TrimSpace(text) + " …\n")
		}
	}
	return b.String()
}

// added returns the lines of a screen that were not on it before.
func (p *person) added(before, after string) string {
	var b strings.Builder
	seen := strings.Split(p.settled(before), "\n")
	for line := range strings.Lines(p.settled(after)) {
		if text := strings.TrimSpace(line); text != "" && !slices.Contains(seen, strings.TrimSuffix(line, "\n")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// looks checks the remains of the object.
func (p *person) looks(i interrupt) {
	p.t.Helper()
	if i.lists == nil {
		return
	}
	out, err := p.command(p.c.Bin, i.lists...).CombinedOutput()
	if text := string(out); err != nil || !strings.Contains(text, i.has) || i.lacks != "" && strings.Contains(text, i.lacks) {
		p.t.Errorf("%s: got %v and\n%s", i.about, err, text)
	}
}

// exitCode returns the exit code as a shell reports it.
func exitCode(err error) int {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		return 0
	}
	if status, ok := e.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return e.ExitCode()
}
