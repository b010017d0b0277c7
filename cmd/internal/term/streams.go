// Package term implements the user interface: results on stdout, and messages and prompts on stderr.
// Prompts, progress and colors are used only on terminals. No other package imports a terminal library.
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

// Streams holds the input and outputs of a command. Commands embed it.
type Streams struct {
	// In is standard input.
	In io.Reader
	// Out is for results, which scripts read.
	Out io.Writer
	// Err is for messages: progress, prompts and errors.
	Err io.Writer

	inTerminal  bool
	outTerminal bool
	errTerminal bool
	noColour    bool
	// dumb is true if the terminal cannot move the cursor.
	dumb bool
	// accessible is the value of --accessible: nothing is drawn, for screen readers.
	accessible bool
	// keepLines is true if other output, such as a log, goes to Err.
	keepLines bool
	// live is the line below which nothing else is printed; nil for none.
	live *LiveLine
	// program is the command that starts det-deploy; the default is "det-deploy".
	program string
	getenv  func(string) string
	// size is the size of the terminal of Out in tests.
	size screenSize
}

type screenSize struct{ columns, rows int }

// System returns the streams of this process.
func System() *Streams {
	return &Streams{
		In:          os.Stdin,
		Out:         os.Stdout,
		Err:         os.Stderr,
		inTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		errTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		// See https://no-color.org: set and not empty.
		noColour: os.Getenv("NO_COLOR") != "" || isDumb(os.Getenv("TERM")),
		dumb:     isDumb(os.Getenv("TERM")),
		program:  programName(os.Args[0]),
		getenv:   os.Getenv,
	}
}

// Test returns streams with in as the input and buffers as outputs. If terminal is set, they behave like a
// terminal.
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

// CanAsk reports whether a user can answer prompts.
func (s *Streams) CanAsk() bool { return s.inTerminal && s.errTerminal }

// OutIsFile reports whether Out is a regular file, so that nothing else of a pipeline writes to the terminal.
func (s *Streams) OutIsFile() bool {
	f, ok := s.Out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// ErrTerminal reports whether Err is a terminal.
func (s *Streams) ErrTerminal() bool { return s.errTerminal }

// canMove reports whether lines on Err may be overwritten: on a capable terminal, without --accessible.
func (s *Streams) canMove() bool { return s.errTerminal && !s.dumb && !s.isAccessible() }

// canDraw reports whether forms may be drawn instead of asked line by line.
func (s *Streams) canDraw() bool {
	_, keyboard := s.In.(*os.File)
	return s.CanAsk() && s.canMove() && !s.noColour && keyboard
}

// accessibleVariable is the variable equivalent to --accessible.
const accessibleVariable = "DET_DEPLOY_ACCESSIBLE"

func (s *Streams) isAccessible() bool {
	if s.accessible {
		return true
	}
	on, err := strconv.ParseBool(s.getenv(accessibleVariable))
	return on || err != nil && s.getenv(accessibleVariable) != ""
}

// AddAccessibleFlag declares --accessible.
func (s *Streams) AddAccessibleFlag(fs *pflag.FlagSet) {
	fs.BoolVar(&s.accessible, "accessible", false, "print plain lines for screen readers, draw nothing (default $"+accessibleVariable+")")
}

func isDumb(terminal string) bool { return terminal == "" || terminal == "dumb" }

// Getenv returns an environment variable. In tests, the environment is empty.
func (s *Streams) Getenv(key string) string { return s.getenv(key) }

// colourErr reports whether Err may be colored.
func (s *Streams) colourErr() bool { return s.errTerminal && !s.noColour }

// colourOut reports whether Out may be colored.
func (s *Streams) colourOut() bool { return s.outTerminal && !s.noColour }

// outSize returns the size of the terminal of Out, or zeros if it is none.
func (s *Streams) outSize() (columns, rows int) {
	f, file := s.Out.(*os.File)
	if !file || !s.outTerminal {
		return s.size.columns, s.size.rows
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 || rows <= 0 {
		return 80, 24
	}
	return columns, rows
}

// WithSize returns s with a terminal of this size, for tests.
func (s *Streams) WithSize(columns, rows int) *Streams {
	c := *s
	c.size = screenSize{columns, rows}
	return &c
}

// WithEnv returns s with another environment, for tests.
func (s *Streams) WithEnv(getenv func(string) string) *Streams {
	c := *s
	c.getenv = getenv
	return &c
}
