// Package script runs the startup scripts of a resource pool on its machines. The output of a
// script may contain secrets: it is readable by the machine's administrator, and the error of a
// failed script contains its last lines.
package script

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

// Script is the text of a program.
type Script struct {
	// Name is the name of the setting, such as "startup_script".
	Name string
	Text []byte
	// File is the path to which the script is written. Its output is written next to it.
	File string
	// Env is a list of KEY=VALUE that extends the process environment.
	Env []string
}

// Output returns the file of the script's output, which only its owner can read.
func (s Script) Output() string { return s.File + ".log" }

const (
	// tailBytes and tailLines limit the output in the error of a failed script: enough for an error
	// and its context.
	tailBytes = 4 << 10
	tailLines = 20
	// killPatience is how long to wait for the script's processes after it was killed.
	killPatience = 5 * time.Second
)

// Run runs a script and waits until it exits. Its background processes continue. The error contains
// the last lines of the output.
func Run(ctx context.Context, s Script) error {
	if err := os.WriteFile(s.File, s.Text, 0o700); err != nil {
		return fmt.Errorf("run %s: %w", s.Name, err)
	}
	out, err := os.OpenFile(s.Output(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("run %s: %w", s.Name, err)
	}
	defer func() { _ = out.Close() }() // the script has its own descriptor
	argv := onMachine(interpreterOf(s))
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = append(os.Environ(), s.Env...)
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	c.WaitDelay = killPatience
	if err := runBounded(ctx, c, s); err != nil {
		return fmt.Errorf("run %s: %w%s", s.Name, err, outputTail(s.Output()))
	}
	return nil
}

// runBounded runs the command and limits the size of its output.
func runBounded(ctx context.Context, c *exec.Cmd, s Script) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { Bound(ctx, s) })
	err := c.Run()
	cancel()
	beside.Wait()
	return err
}

// interpreterOf returns the command line of the script: the interpreter of its first line, or a
// shell.
func interpreterOf(s Script) []string {
	first, _, _ := bytes.Cut(s.Text, []byte("\n"))
	if line, found := strings.CutPrefix(string(first), "#!"); found {
		if argv := strings.Fields(line); len(argv) > 0 {
			return append(argv, s.File) // direct execution fails on a file system mounted with noexec
		}
	}
	if _, err := os.Stat("/bin/bash"); err == nil {
		return []string{"/bin/bash", s.File}
	}
	return []string{"/bin/sh", s.File}
}

// outputTail returns the last lines of a file, formatted for the end of an error.
func outputTail(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // opened for reading only
	text, err := lastBytes(f, tailBytes)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return ""
	}
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(text), "�")), "\n")
	return "; its last lines:\n" + strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
