// Package terminal runs programs on a terminal whose screen a test can read. Only tests may import
// it.
package terminal

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
	"golang.org/x/term"
)

// Patience limits each wait for the screen and for the end of a program.
const Patience = 60 * time.Second

// Test is a test or a script that a failure ends.
type Test interface {
	Fatalf(form string, args ...any)
}

// Terminal is a terminal with a screen and a keyboard.
type Terminal struct {
	t             Test
	keyboard, tty *os.File
	vt            vt10x.Terminal
	before        term.State
	read          chan struct{}

	mu     sync.Mutex // guards output
	output strings.Builder
}

// Open returns a terminal of this size.
func Open(t Test, columns, lines int) *Terminal {
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	s := &Terminal{t: t, keyboard: keyboard, tty: tty, read: make(chan struct{})}
	s.vt = vt10x.New(vt10x.WithWriter(keyboard))
	s.Resize(columns, lines)
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

// readAll displays the output of the programs until the terminal is closed.
func (s *Terminal) readAll() {
	defer close(s.read)
	buffer, rest := make([]byte, 4096), []byte(nil)
	for {
		n, err := s.keyboard.Read(buffer)
		s.keep(buffer[:n])
		rest = append(rest, buffer[:n]...)
		whole := len(rest) - len(unfinished.Find(rest))
		_, _ = s.vt.Write(keyboardMode.ReplaceAll(rest[:whole], nil)) // it never fails
		rest = append([]byte(nil), rest[whole:]...)
		if err != nil {
			return
		}
	}
}

func (s *Terminal) keep(output []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.output.Write(output)
}

// Output returns everything that was printed, with its control sequences.
func (s *Terminal) Output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output.String()
}

func (s *Terminal) settings() term.State {
	state, err := term.GetState(int(s.tty.Fd()))
	if err != nil {
		s.t.Fatalf("read the settings of the terminal: %v", err)
	}
	return *state
}

// Start starts a program on the terminal.
func (s *Terminal) Start(c *exec.Cmd) {
	c.Stdin, c.Stdout, c.Stderr = s.tty, s.tty, s.tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		s.t.Fatalf("start %s: %v", c, err)
	}
}

// Resize changes the size, which programs are told.
func (s *Terminal) Resize(columns, lines int) {
	s.vt.Resize(columns, lines)
	if err := pty.Setsize(s.tty, &pty.Winsize{Rows: uint16(lines), Cols: uint16(columns)}); err != nil {
		s.t.Fatalf("resize the terminal: %v", err)
	}
}

// Type presses keys.
func (s *Terminal) Type(keys string) {
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.t.Fatalf("type %q: %v", keys, err)
	}
}

// Key returns the bytes that a key sends: enter, esc, tab, up, down, backspace or ctrl+c.
func Key(name string) string {
	return map[string]string{"enter": "\r", "esc": "\x1b", "tab": "\t", "up": "\x1b[A", "down": "\x1b[B", "backspace": "\x7f", "ctrl+c": "\x03"}[name]
}

// Await waits until the screen is as it should be.
func (s *Terminal) Await(what string, is func(screen string) bool) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(Patience); !is(s.Screen()); <-tick.C {
		if time.Now().After(limit) {
			s.t.Fatalf("waited for %s on:\n%s\nof the output %q", what, s.Screen(), s.Output())
		}
	}
}

// Screen returns the screen without trailing blanks and blank lines.
func (s *Terminal) Screen() string {
	lines := strings.Split(s.vt.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// End waits for the end of the last program. The test fails if the program left the terminal with
// other settings, without a cursor or on its other screen.
func (s *Terminal) End(c *exec.Cmd) error {
	hung := time.AfterFunc(Patience, func() { _ = c.Process.Kill() }) // it has exited, or exits now
	defer hung.Stop()
	err := c.Wait()
	after := s.settings()
	_ = s.tty.Close()      // nothing is written to it any more
	<-s.read               // the last program has closed the terminal
	_ = s.keyboard.Close() // all output was read
	if after != s.before {
		s.t.Fatalf("the terminal was left with other settings: %+v, and not %+v", after, s.before)
	}
	if !s.vt.CursorVisible() || s.vt.Mode()&vt10x.ModeAltScreen != 0 {
		s.t.Fatalf("the terminal was left without a cursor, or on its other screen")
	}
	return err
}
