package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"
)

// prompted limits the time until a program asks the next question.
const prompted = 60 * time.Second

// terminal runs a program on a terminal and answers each of its questions with one line of a file.
// The final screen is written to the file screen:
//
//	terminal ANSWERS program arguments…
func terminal(ts *testscript.TestScript, neg bool, args []string) {
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
	keyboard, tty, err := openTerminal()
	ts.Check(err)
	defer func() { _ = keyboard.Close() }() // all output was read
	path, err := exec.LookPath(argv[0])
	ts.Check(err)
	c := exec.Command(path, argv[1:]...)
	c.Args[0] = argv[0]
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.Dir, c.Env = ts.Getenv("WORK"), environment(ts)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(c.Start())
	ts.Check(tty.Close())
	hung := time.AfterFunc(prompted, func() { _ = c.Process.Kill() }) // it has exited, or exits now
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
			hung.Reset(prompted)
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

// openTerminal returns both ends of a new terminal.
func openTerminal() (keyboard, tty *os.File, err error) {
	if keyboard, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	var number, unlock uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlock} {
		if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, keyboard.Fd(), request, uintptr(unsafe.Pointer(value))); no != 0 {
			return nil, nil, no
		}
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	return keyboard, tty, err
}
