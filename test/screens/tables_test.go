package screens_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/golden"
	"github.com/det-deploy/det-deploy/test/terminal"
)

// looks are commands. Each answer is shown as a person sees it. The tables come first, while all ages have two
// digits at most.
func looks() []string {
	return []string{
		"task list --all", "task list --all --state failed", "task describe sleeper", "task describe failed", "task describe waiter",
		"job list", "agent list", "pool list", "pool describe default", "resources usage",
		"experiment list", "experiment describe first", "trial list first", "checkpoint list", "experiment list --state running",
		"model list", "model describe mnist", "workspace list", "workspace describe research", "project list", "project describe vision",
		"template list", "template describe basics", "user list", "user sessions list --user ada", "context list", "context show", "list", "master info",
		"agent join-token list", "task lits", "task describe nothing", "task kill",
		"task wait --help", "completion --help", "resources --help", "local up --help",
	}
}

// sizes are those of a small and of a large terminal.
func sizes() map[string][2]int { return map[string][2]int{"80x24": {80, 24}, "120x35": {120, 35}} }

// Every screen is in a golden file, whose diff shows a changed one.
func TestTablesFitTheScreen(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.furnish()
	p.fail()
	p.await("the sleeper runs", "sleeper", "task", "list", "--state", "running")
	p.await("the waiter has a reason", "no free slots", "task", "list")
	for name, size := range sizes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, args := range looks() {
				fmt.Fprintf(&b, "$ det-deploy %s\n%s\n", args, sized(p.screen(t, args, size[0])))
			}
			golden.Compare(t, "testdata/tables-"+name+".golden", b.String())
		})
	}
}

// screen returns the output of a command.
func (p *person) screen(t *testing.T, args string, columns int) string {
	t.Helper()
	s, c := terminal.Open(t, columns, 100), p.command(p.c.Bin, strings.Fields(args)...)
	s.Start(c)
	_ = s.End(c) // some are refused
	return s.Screen()
}

var (
	wholeIDs  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}-[0-9a-f-]{4,}|\b[0-9a-f]{8}\b|\b[A-Z0-9]{26}\b`)
	checkouts = regexp.MustCompile(`\bdev-[0-9a-f]{8}(-modified)?\b`)
	instants  = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	durations = regexp.MustCompile(`\b\d+s\b *`)
	amounts   = regexp.MustCompile(`\b\d\.\d\d\b`)
	netPorts  = regexp.MustCompile(`127\.0\.0\.1:\d{4,5}`)
)

// sized replaces the parts that differ between runs by others of the same width.
func sized(text string) string {
	text = checkouts.ReplaceAllString(text, "dev") // in the last column
	text = instants.ReplaceAllString(text, "2026-01-02 15:04:05")
	text = netPorts.ReplaceAllString(amounts.ReplaceAllString(text, "0.00"), "127.0.0.1:12345")
	text = wholeIDs.ReplaceAllStringFunc(text, func(id string) string { return "0a1b2c3d-4e5f-6789-abcd-0123456789ab"[:len(id)] })
	return durations.ReplaceAllStringFunc(text, func(age string) string {
		padding := ""
		if strings.HasSuffix(age, " ") {
			padding = strings.Repeat(" ", max(1, len(age)-len("3s")))
		}
		return "3s" + padding
	})
}

// fail runs a task that fails.
func (p *person) fail() {
	p.t.Helper()
	if out, code := p.c.Try("task", "run", "--slots", "0", "--name", "failed", "--", "echo no data; exit 3"); code != 3 {
		p.t.Fatalf("got exit code %d\n%s", code, out)
	}
}
