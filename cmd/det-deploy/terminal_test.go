package main

import (
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/det-deploy/det-deploy/test/terminal"
)

// questions runs a program on a terminal and answers each of its questions with one line of a file.
// The final screen is written to the file screen:
//
//	terminal ANSWERS program arguments…
func questions(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: terminal ANSWERS program arguments…")
	}
	screen, err := onTerminal(ts, strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n"), args[1:])
	ts.Check(os.WriteFile(ts.MkAbs("screen"), []byte(screen), 0o600))
	ts.Logf("%s", screen)
	if (err != nil) != neg {
		ts.Fatalf("got %v", err)
	}
}

func onTerminal(ts *testscript.TestScript, answers, argv []string) (string, error) {
	keyboard, tty, err := pty.Open()
	ts.Check(err)
	defer func() { _ = keyboard.Close() }() // all output was read
	c := onPath(ts, argv)
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.Env = environment(ts)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(c.Start())
	ts.Check(tty.Close())
	hung := time.AfterFunc(terminal.Patience, func() { _ = c.Process.Kill() }) // it has exited, or exits now
	defer hung.Stop()
	var screen strings.Builder
	buffer := make([]byte, 4096)
	for {
		n, err := keyboard.Read(buffer)
		screen.Write(buffer[:n])
		if err != nil {
			break // the last program has closed the terminal
		}
		asked := strings.HasSuffix(screen.String(), ": ") || strings.HasSuffix(screen.String(), "[y/N] ")
		if asked && len(answers) > 0 {
			hung.Reset(terminal.Patience)
			_, err := keyboard.WriteString(answers[0] + "\n")
			ts.Check(err)
			answers = answers[1:]
		}
	}
	return strings.ReplaceAll(screen.String(), "\r\n", "\n"), c.Wait()
}

// environment returns the environment of the script.
func environment(ts *testscript.TestScript) []string {
	var out []string
	names := []string{
		"PATH", "HOME", "XDG_CONFIG_HOME", "AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"DET_DEPLOY_ACCESSIBLE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_EC2_METADATA_DISABLED",
		"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "CLOUDSDK_CORE_PROJECT", "CLOUDSDK_COMPUTE_REGION",
	}
	for _, service := range append(gcloudServices(), "compute", "storage") {
		names = append(names, endpointVariable(service))
	}
	for _, name := range names {
		out = append(out, name+"="+ts.Getenv(name))
	}
	return append(out, "TERM=xterm", "NO_COLOR=1")
}
