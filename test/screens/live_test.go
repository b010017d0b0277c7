package screens_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/golden"
	"github.com/det-deploy/det-deploy/test/terminal"
)

// frame is the text on a screen at a moment.
type frame struct {
	about string
	args  []string
	at    *stuck
	// until are the texts of the moment.
	until []string
}

func frames(p *person) []frame {
	words := strings.Fields
	return []frame{
		{"a task that waits", words("task run --slots 2 --name waits -- true"), nil, []string{"Launched", "2 of 2 in the queue"}},
		{"top", words("top"), nil, []string{"asleep", "waiter"}},
		{"a wait", words("task wait sleeper"), nil, []string{"is running"}},
		{"files on their way to the master", words("task run --name sent --context big -- true"), p.stuckAt("/pieces"), []string{"Sending files"}},
		{"files on their way from the master", words("checkpoint download " + checkpoint), p.stuckAt(files), []string{"Downloading"}},
		{"the question before a deletion", words("experiment delete 1"), nil, []string{"[y/N]"}},
		{"a password", words("user create eve"), nil, []string{"password for eve:"}},
	}
}

var (
	progress = regexp.MustCompile(`(Sending|Downloading) .*`)
	clock    = regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`)
)

func TestLiveScreens(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.furnish()
	p.put("big/file", 16<<20)
	for name, size := range sizes() {
		var b strings.Builder
		for _, f := range frames(p) {
			screen := sized(p.frame(f, size[0], size[1]))
			screen = clock.ReplaceAllString(progress.ReplaceAllString(screen, "$1 …"), "15:04:05")
			fmt.Fprintf(&b, "# %s\n%s\n", f.about, screen)
		}
		golden.Compare(t, "testdata/live-"+name+".golden", b.String())
	}
}

// frame returns the screen at a moment of a command, which is interrupted.
func (p *person) frame(f frame, columns, lines int) string {
	p.t.Helper()
	s, c := terminal.Open(p.t, columns, lines), p.command(p.c.Bin, f.args...)
	if f.at != nil {
		c.Env = append(c.Env, "DET_MASTER="+f.at.url)
	}
	s.Start(c)
	for _, text := range f.until {
		s.Await(has(text))
	}
	screen := s.Screen()
	s.Type(terminal.Key("ctrl+c"))
	_ = s.End(c) // it was interrupted
	return screen
}

func TestLiveLineEndsWhenTheProgramSpeaks(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.furnish()
	s, c := open(t), p.command(p.c.Bin, "task", "run", "--slots", "2", "--name", "waits", "--", "echo first words")
	s.Start(c)
	s.Await(has("Waiting: no free slots"))
	p.c.Run("task", "kill", "waiter", "sleeper")
	if err := s.End(c); err != nil {
		t.Fatal(err)
	}
	if screen := s.Screen(); !strings.Contains(screen, "\nfirst words\n") || strings.Contains(screen, "Waiting") {
		t.Errorf("got:\n%s\nwant the words of the program, without the line before", screen)
	}
}
