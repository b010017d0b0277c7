package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hinshun/vt10x"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
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
	s := openScreen(ts)
	c := s.start(args[1:])
	for step := range strings.Lines(ts.ReadFile(args[0])) {
		verb, what, _ := strings.Cut(strings.TrimSpace(step), " ")
		s.do(c, verb, what)
	}
	err := s.end(c)
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(s.text()), 0o600))
	ts.Logf("%s", s.text())
	if (err != nil) != neg {
		ts.Fatalf("got %v", err)
	}
}

// screen is a terminal of a test with its content.
type screen struct {
	ts            *testscript.TestScript
	keyboard, tty *os.File
	vt            vt10x.Terminal
	before        unix.Termios
	read          chan struct{}
}

func openScreen(ts *testscript.TestScript) *screen {
	keyboard, tty, err := openTerminal()
	ts.Check(err)
	s := &screen{ts: ts, keyboard: keyboard, tty: tty, read: make(chan struct{})}
	s.vt = vt10x.New(vt10x.WithWriter(keyboard))
	s.resize("80 24")
	s.before = s.settings()
	go s.readAll()
	return s
}

var (
	// keyboardMode matches a control sequence for the keyboard that the emulator mistakes for one
	// of the cursor.
	keyboardMode = regexp.MustCompile(`\x1b\[[<>?][0-9;]*u`)
	// unfinished matches an incomplete control sequence.
	unfinished = regexp.MustCompile(`\x1b(\[[0-9;<>?]*)?$`)
)

// readAll displays the output of the program until its terminal is closed.
func (s *screen) readAll() {
	defer close(s.read)
	buffer, rest := make([]byte, 4096), []byte(nil)
	for {
		n, err := s.keyboard.Read(buffer)
		rest = append(rest, buffer[:n]...)
		whole := len(rest) - len(unfinished.Find(rest))
		_, _ = s.vt.Write(keyboardMode.ReplaceAll(rest[:whole], nil)) // it never fails
		rest = append([]byte(nil), rest[whole:]...)
		if err != nil {
			return
		}
	}
}

func (s *screen) settings() unix.Termios {
	t, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	s.ts.Check(err)
	return *t
}

func (s *screen) start(argv []string) *exec.Cmd {
	path, err := exec.LookPath(argv[0])
	s.ts.Check(err)
	c := exec.Command(path, argv[1:]...)
	c.Args[0] = argv[0]
	c.Stdin, c.Stdout, c.Stderr = s.tty, s.tty, s.tty
	c.Dir, c.Env = s.ts.Getenv("WORK"), append(environment(s.ts), "TERM=xterm-256color", "NO_COLOR=")
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.ts.Check(c.Start())
	return c
}

func (s *screen) do(c *exec.Cmd, verb, what string) {
	switch verb {
	case "wait":
		s.wait(what, true, strings.Contains)
	case "last":
		s.wait(what+"\n", true, strings.HasSuffix)
	case "gone":
		s.wait(what, false, strings.Contains)
	case "type":
		s.press(what)
	case "key":
		keys := map[string]string{"enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "backspace": "\x7f", "ctrl+c": "\x03"}
		s.press(keys[what])
	case "size":
		s.resize(what)
	case "frame":
		s.ts.Check(os.WriteFile(s.ts.MkAbs(what), []byte(s.text()), 0o600))
	case "kill":
		number, err := strconv.Atoi(what)
		s.ts.Check(err)
		s.ts.Check(c.Process.Signal(syscall.Signal(number)))
	default:
		s.ts.Fatalf("there is no step %q", verb)
	}
}

func (s *screen) press(keys string) {
	_, err := s.keyboard.WriteString(keys)
	s.ts.Check(err)
}

func (s *screen) wait(text string, there bool, has func(screen, text string) bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(prompted); has(s.text(), text) != there; <-tick.C {
		if time.Now().After(limit) {
			s.ts.Fatalf("waited for %q (there: %t) on:\n%s", text, there, s.text())
		}
	}
}

// text returns the screen without trailing blanks and blank lines.
func (s *screen) text() string {
	lines := strings.Split(s.vt.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func (s *screen) resize(size string) {
	var columns, lines int
	_, err := fmt.Sscan(size, &columns, &lines)
	s.ts.Check(err)
	s.vt.Resize(columns, lines)
	s.ts.Check(unix.IoctlSetWinsize(int(s.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(lines), Col: uint16(columns)}))
}

// end waits for the program and checks that it restored the terminal.
func (s *screen) end(c *exec.Cmd) error {
	hung := time.AfterFunc(prompted, func() { _ = c.Process.Kill() }) // it has exited, or exits now
	defer hung.Stop()
	err := c.Wait()
	if after := s.settings(); after != s.before {
		s.ts.Fatalf("the terminal was left with other settings: %+v, and not %+v", after, s.before)
	}
	s.ts.Check(s.tty.Close())
	<-s.read               // the last program has closed the terminal
	_ = s.keyboard.Close() // all output was read
	if !s.vt.CursorVisible() || s.vt.Mode()&vt10x.ModeAltScreen != 0 {
		s.ts.Fatalf("the terminal was left without a cursor, or on its other screen")
	}
	return err
}
