package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/det-deploy/det-deploy/test/terminal"
)

// draw runs a program on a terminal of 80 columns and 24 lines and performs the steps in a file,
// one on each line. The program must restore the terminal:
//
//	draw STEPS program arguments…
//
//	wait TEXT          until the screen has the text
//	gone TEXT          until it has it no longer
//	last TEXT          until the screen ends in the text
//	type TEXT          on the keyboard
//	key NAME           enter, esc, tab, up, down, backspace, ctrl+c
//	size COLUMNS LINES of the terminal from now on
//	frame FILE         writes the screen to a file
//	kill SIGNAL        to the program, by number
//
// The final screen is written to the file screen.
func draw(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: draw STEPS program arguments…")
	}
	s := &screen{ts: ts, terminal: terminal.Open(ts, 80, 24)}
	s.program = onPath(ts, args[1:])
	s.program.Env = append(environment(ts), "TERM=xterm-256color", "NO_COLOR=")
	s.terminal.Start(s.program)
	for step := range strings.Lines(ts.ReadFile(args[0])) {
		verb, what, _ := strings.Cut(strings.TrimSpace(step), " ")
		s.do(verb, what)
	}
	err := s.terminal.End(s.program)
	s.frame("screen")
	ts.Logf("%s", s.terminal.Screen())
	if (err != nil) != neg {
		ts.Fatalf("got %v", err)
	}
}

// onPath returns the program of a script.
func onPath(ts *testscript.TestScript, argv []string) *exec.Cmd {
	path, err := exec.LookPath(argv[0])
	ts.Check(err)
	c := exec.Command(path, argv[1:]...)
	c.Args[0] = argv[0]
	c.Dir = ts.Getenv("WORK")
	return c
}

// screen is the terminal of a script with its program.
type screen struct {
	ts       *testscript.TestScript
	terminal *terminal.Terminal
	program  *exec.Cmd
}

func (s *screen) do(verb, what string) {
	switch verb {
	case "wait":
		s.terminal.Await(what, func(text string) bool { return strings.Contains(text, what) })
	case "last":
		s.terminal.Await(what+" at the end", func(text string) bool { return strings.HasSuffix(text, what+"\n") })
	case "gone":
		s.terminal.Await("the end of "+what, func(text string) bool { return !strings.Contains(text, what) })
	case "type":
		s.terminal.Type(what)
	case "key":
		s.terminal.Type(terminal.Key(what))
	case "size":
		s.resize(what)
	case "frame":
		s.frame(what)
	case "kill":
		number, err := strconv.Atoi(what)
		s.ts.Check(err)
		s.ts.Check(s.program.Process.Signal(syscall.Signal(number)))
	default:
		s.ts.Fatalf("there is no step %q", verb)
	}
}

// frame writes the screen to a file.
func (s *screen) frame(file string) {
	s.ts.Check(os.WriteFile(s.ts.MkAbs(file), []byte(s.terminal.Screen()), 0o600))
}

func (s *screen) resize(size string) {
	var columns, lines int
	_, err := fmt.Sscan(size, &columns, &lines)
	s.ts.Check(err)
	s.terminal.Resize(columns, lines)
}
