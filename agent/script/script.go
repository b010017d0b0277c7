// Package script runs what a pool's owner wrote for the machines of the pool. The
// output of a script may hold secrets: the machine's administrator can read it, and the
// error of a failed script has its last lines.
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

// Script is a program as text.
type Script struct {
	// Name is what its author calls it: "startup_script".
	Name string
	Text []byte
	// File is where it is put. Its output goes beside it.
	File string
	// Env is KEY=VALUE over this process's own environment.
	Env []string
}

// Output is where a script's output goes, readable by this user alone.
func (s Script) Output() string { return s.File + ".log" }

const (
	// tailBytes and tailLines bound the output of a failed script in its error: enough
	// for an error and what led to it.
	tailBytes = 4 << 10
	tailLines = 20
	// killPatience is how long its processes may take to die with it.
	killPatience = 5 * time.Second
)

// Run runs a script to its end. What it starts in the background continues. The
// error has the last lines of its output.
func Run(ctx context.Context, s Script) error {
	if err := os.WriteFile(s.File, s.Text, 0o700); err != nil {
		return fmt.Errorf("run %s: %w", s.Name, err)
	}
	out, err := os.OpenFile(s.Output(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("run %s: %w", s.Name, err)
	}
	defer func() { _ = out.Close() }() // the script has its own
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

// runBounded runs the command while the output is kept short.
func runBounded(ctx context.Context, c *exec.Cmd, s Script) error {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { Bound(ctx, s) })
	err := c.Run()
	cancel()
	beside.Wait()
	return err
}

// interpreterOf is what runs the script: what its first line says, or a shell.
func interpreterOf(s Script) []string {
	first, _, _ := bytes.Cut(s.Text, []byte("\n"))
	if line, found := strings.CutPrefix(string(first), "#!"); found {
		if argv := strings.Fields(line); len(argv) > 0 {
			return append(argv, s.File) // by itself it could not run where files may not be executed
		}
	}
	if _, err := os.Stat("/bin/bash"); err == nil {
		return []string{"/bin/bash", s.File}
	}
	return []string{"/bin/sh", s.File}
}

// outputTail is the last lines of a file, for the end of an error.
func outputTail(name string) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
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
