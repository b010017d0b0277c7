package term

import "strings"

// ForeignLines prints lines of programs to one output. It joins the parts of a line that are printed one
// after the other.
type ForeignLines struct {
	print    func(head, text string) error
	terminal bool
	// open is the program whose line has no end yet; nil for none.
	open *string
}

// ForeignOut returns the lines on Out.
func (s *Streams) ForeignOut() *ForeignLines {
	return &ForeignLines{print: s.PrintForeign, terminal: s.outTerminal}
}

// ForeignErr returns the lines on Err.
func (s *Streams) ForeignErr() *ForeignLines {
	return &ForeignLines{print: s.PrintForeignErr, terminal: s.errTerminal}
}

// Continues reports whether the next line of a program continues an open one.
func (l *ForeignLines) Continues(program string) bool { return l.open != nil && *l.open == program }

// Print prints a line of a program as PrintForeign does. A partial line is printed without its newline; if
// the next line is of the same program, it follows without a head.
func (l *ForeignLines) Print(program, head, text string, partial bool) error {
	if l.Continues(program) {
		head, l.open = "", nil
	}
	if err := l.End(); err != nil {
		return err
	}
	if partial {
		text, l.open = strings.TrimSuffix(text, "\n"), &program
	}
	return l.print(head, text)
}

// End ends an open line.
func (l *ForeignLines) End() error {
	if l.open == nil {
		return nil
	}
	l.open = nil
	return l.print("", "\n")
}

// EndOnTerminal ends an open line on a terminal. Files and pipes get what the program wrote.
func (l *ForeignLines) EndOnTerminal() error {
	if !l.terminal {
		return nil
	}
	return l.End()
}
