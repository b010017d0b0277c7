// Package term is how det-deploy speaks with a person or a script: the answer
// on stdout, the conversation on stderr, and nothing that asks, spins or is
// coloured where no terminal is. No other package imports a terminal library.
package term

import (
	"bytes"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/term"
)

// Streams are where a command reads and writes. Commands embed them.
type Streams struct {
	// In is the standard input.
	In io.Reader
	// Out is for the answer, which a script reads.
	Out io.Writer
	// Err is for the conversation: progress, questions, errors.
	Err io.Writer

	inTerminal  bool
	outTerminal bool
	errTerminal bool
	noColour    bool
	// dumb is a terminal whose cursor cannot be moved.
	dumb bool
	// accessible is what --accessible says: nothing is drawn, for screen readers.
	accessible bool
	// keepLines is a conversation that others take part in: a log.
	keepLines bool
	// program is how the user can start det-deploy, "det-deploy" when empty.
	program string
	getenv  func(string) string
}

// System returns the streams of this process.
func System() *Streams {
	return &Streams{
		In:          os.Stdin,
		Out:         os.Stdout,
		Err:         os.Stderr,
		inTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		errTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		// See https://no-color.org: present and not empty.
		noColour: os.Getenv("NO_COLOR") != "" || isDumb(os.Getenv("TERM")),
		dumb:     isDumb(os.Getenv("TERM")),
		program:  programName(os.Args[0]),
		getenv:   os.Getenv,
	}
}

// Test returns streams that read in and keep what is written. Terminal makes
// them behave as if a person sat before them.
func Test(in string, terminal bool) (s *Streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	s = &Streams{
		In: strings.NewReader(in), Out: out, Err: err,
		inTerminal: terminal, outTerminal: terminal, errTerminal: terminal,
		noColour: true,
		getenv:   func(string) string { return "" },
	}
	return s, out, err
}

// CanAsk reports whether there is a person to answer questions.
func (s *Streams) CanAsk() bool { return s.inTerminal && s.errTerminal }

// ErrTerminal reports whether the conversation goes to a person's screen.
func (s *Streams) ErrTerminal() bool { return s.errTerminal }

// canMove reports whether what was said to a person may be written over: on a terminal
// that can, for who sees it.
func (s *Streams) canMove() bool { return s.errTerminal && !s.dumb && !s.isAccessible() }

// canDraw reports whether questions may be drawn, and not only written line by line.
func (s *Streams) canDraw() bool {
	_, keyboard := s.In.(*os.File)
	return s.CanAsk() && s.canMove() && !s.noColour && keyboard
}

// accessibleVariable does what --accessible does.
const accessibleVariable = "DET_DEPLOY_ACCESSIBLE"

func (s *Streams) isAccessible() bool {
	if s.accessible {
		return true
	}
	on, err := strconv.ParseBool(s.getenv(accessibleVariable))
	return on || err != nil && s.getenv(accessibleVariable) != ""
}

// AddAccessibleFlag defines --accessible, for all commands.
func (s *Streams) AddAccessibleFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&s.accessible, "accessible", false, "plain lines for screen readers: draw nothing (default $"+accessibleVariable+")")
}

func isDumb(terminal string) bool { return terminal == "" || terminal == "dumb" }

// Getenv returns an environment variable; in tests there is none.
func (s *Streams) Getenv(key string) string { return s.getenv(key) }

// colourErr reports whether the conversation may be coloured.
func (s *Streams) colourErr() bool { return s.errTerminal && !s.noColour }

// colourOut reports whether the answer may be coloured.
func (s *Streams) colourOut() bool { return s.outTerminal && !s.noColour }

// WithEnv returns s with another environment, for tests.
func (s *Streams) WithEnv(getenv func(string) string) *Streams {
	c := *s
	c.getenv = getenv
	return &c
}
