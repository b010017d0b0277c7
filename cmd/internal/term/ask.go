package term

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// Question is a question to the user that a flag can answer instead.
type Question struct {
	// Text is the question, such as "Apply this plan?".
	Text string
	// Flag is the flag that answers it without a terminal, such as "--yes".
	Flag string
}

// Confirm asks for yes or no; the default is no. Without a terminal it returns a usage error that names
// the flag.
func (s *Streams) Confirm(ctx context.Context, q Question) (bool, error) {
	answer, err := s.askQuestion(ctx, q, " [y/N] ")
	if err != nil {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	default:
		return false, nil
	}
}

// Agreed is like Confirm for the flag --yes, before anything is changed. It returns true without asking if
// yes is set.
func (s *Streams) Agreed(ctx context.Context, yes bool, text string) (bool, error) {
	if yes {
		return true, nil
	}
	agreed, err := s.Confirm(ctx, Question{Text: text, Flag: "--yes"})
	if err == nil && !agreed {
		s.Notef("Nothing was changed.")
	}
	return agreed, err
}

// ConfirmTyped asks the user to type want, for irreversible operations.
func (s *Streams) ConfirmTyped(ctx context.Context, q Question, want string) (bool, error) {
	answer, err := s.askQuestion(ctx, q, fmt.Sprintf("\nType %s to continue: ", want))
	return err == nil && answer == want, err
}

// Password prompts without echo. If the input is a buffer of a test, it reads a line.
func (s *Streams) Password(ctx context.Context, q Question) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok || !s.CanAsk() {
		return s.askQuestion(ctx, q, " ")
	}
	fd := int(f.Fd())
	saved, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("cannot read the state of the terminal: %w", err)
	}
	read := start(func() (string, error) {
		b, err := term.ReadPassword(fd)
		return string(b), err
	})
	read.hide(fd, *saved)
	s.promptLine(q.Text + " ")
	typed, err := read.wait(ctx)
	s.promptLine("\n")
	if err != nil {
		// An interrupted read leaves the echo off.
		_ = term.Restore(fd, saved) // the error of the read takes precedence
		return "", &answerError{q.Text, err}
	}
	return typed, nil
}

// hideLimit limits the wait for the end of the echo.
const hideLimit = time.Second

// hide waits until the read of a password has changed the settings of the terminal, so that no letter is shown
// and an interruption does not restore the echo too early.
func (c reading) hide(fd int, before term.State) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(hideLimit); time.Now().Before(end) && len(c) == 0; <-tick.C {
		if now, err := term.GetState(fd); err != nil || *now != before {
			return
		}
	}
}

func (s *Streams) askQuestion(ctx context.Context, q Question, suffix string) (string, error) {
	if !s.CanAsk() {
		return "", usage.Errorf("cannot ask %q without a terminal: use %s", q.Text, q.Flag)
	}
	s.promptLine(q.Text + suffix)
	answer, err := start(s.readLine).wait(ctx)
	if err != nil {
		s.promptLine("\n")
		return "", &answerError{q.Text, err}
	}
	return strings.TrimSpace(answer), nil
}

// answerError reports a question without an answer.
type answerError struct {
	question string
	err      error
}

func (e *answerError) Error() string {
	return fmt.Sprintf("cannot read the answer to %q: %v", e.question, e.err)
}

func (e *answerError) Unwrap() error { return e.err }

// Unanswered reports whether the user interrupted the question.
func (e *answerError) Unanswered() bool { return errors.Is(e.err, context.Canceled) }

// readLine reads byte by byte, so that the remaining input is left for the next question.
func (s *Streams) readLine() (string, error) {
	var b strings.Builder
	one := bufio.NewReaderSize(io.LimitReader(s.In, 1), 16)
	for {
		one.Reset(io.LimitReader(s.In, 1))
		c, err := one.ReadByte()
		if err == io.EOF && b.Len() > 0 {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		if c == '\n' {
			return b.String(), nil
		}
		b.WriteByte(c)
	}
}

// ReadSecret reads the first line of In, for flags such as --password-stdin.
func (s *Streams) ReadSecret() (string, error) {
	line, err := s.readLine()
	if err == io.EOF { //nolint:errorlint // readLine returns io.EOF itself
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("cannot read the password from standard input: %w", err)
	}
	return strings.TrimSuffix(line, "\r"), nil
}

func (s *Streams) promptLine(text string) {
	_, _ = io.WriteString(s.Err, text) // if the prompt cannot be written, no answer arrives
}

// reading is a read in the background. A read from a terminal cannot be interrupted; its goroutine leaks until the
// process exits.
type reading chan answer

type answer struct {
	line string
	err  error
}

func start(read func() (string, error)) reading {
	c := make(reading, 1)
	go func() {
		line, err := read()
		c <- answer{line, err}
	}()
	return c
}

// wait returns when the read returns or ctx ends.
func (c reading) wait(ctx context.Context) (string, error) {
	select {
	case a := <-c:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
