package term

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/det-deploy/det-deploy/cmd/internal/usage"
)

// Question is something that only a person, or a flag, can answer.
type Question struct {
	// Text is the question: "Apply this plan?"
	Text string
	// Flag answers it without a terminal: "--yes".
	Flag string
}

// Confirm asks for yes or no; no is the default. Without a terminal it is a
// usage error that names the flag.
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

// Agreed is Confirm for what --yes agrees to, and may have already.
func (s *Streams) Agreed(ctx context.Context, yes bool, text string) (bool, error) {
	if yes {
		return true, nil
	}
	return s.Confirm(ctx, Question{Text: text, Flag: "--yes"})
}

// ConfirmTyped asks the person to type want, for what cannot be taken back.
func (s *Streams) ConfirmTyped(ctx context.Context, q Question, want string) (bool, error) {
	answer, err := s.askQuestion(ctx, q, fmt.Sprintf("\nType %s to go on: ", want))
	return err == nil && answer == want, err
}

// Password asks without showing what is typed. From a test's buffer it reads a
// line.
func (s *Streams) Password(ctx context.Context, q Question) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok || !s.CanAsk() {
		return s.askQuestion(ctx, q, " ")
	}
	fd := int(f.Fd())
	saved, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("look at the terminal: %w", err)
	}
	s.promptLine(q.Text + " ")
	typed, err := wait(ctx, func() (string, error) {
		b, err := term.ReadPassword(fd)
		return string(b), err
	})
	s.promptLine("\n")
	if err != nil {
		// An interrupted reading left the echo off.
		_ = term.Restore(fd, saved) // the error of the reading is the one to tell
		return "", fmt.Errorf("read the answer to %q: %w", q.Text, err)
	}
	return typed, nil
}

func (s *Streams) askQuestion(ctx context.Context, q Question, suffix string) (string, error) {
	if !s.CanAsk() {
		return "", usage.Errorf("cannot ask %q without a terminal: pass %s", q.Text, q.Flag)
	}
	s.promptLine(q.Text + suffix)
	answer, err := wait(ctx, s.readLine)
	if err != nil {
		s.promptLine("\n")
		return "", fmt.Errorf("read the answer to %q: %w", q.Text, err)
	}
	return strings.TrimSpace(answer), nil
}

// readLine reads byte by byte, so that what follows the line stays for the
// next question.
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
		return "", fmt.Errorf("read the password from standard input: %w", err)
	}
	return strings.TrimSuffix(line, "\r"), nil
}

func (s *Streams) promptLine(text string) {
	_, _ = io.WriteString(s.Err, text) // a person who cannot be shown the question gives no answer
}

// wait returns when read does, or when ctx ends first. A read of a terminal
// cannot be interrupted: its goroutine is left behind, and the program ends.
func wait(ctx context.Context, read func() (string, error)) (string, error) {
	type answer struct {
		line string
		err  error
	}
	c := make(chan answer, 1)
	go func() {
		line, err := read()
		c <- answer{line, err}
	}()
	select {
	case a := <-c:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
