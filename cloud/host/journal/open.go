package journal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

// Open follows the machine's journal with journalctl.
func Open(ctx context.Context, cursor string) (io.ReadCloser, error) {
	args := []string{"--follow", "--no-tail", "--all", "--output=json", "--output-fields=MESSAGE,SYSLOG_IDENTIFIER,_SYSTEMD_UNIT"}
	if cursor == "" {
		args = append(args, "--boot")
	} else {
		args = append(args, "--after-cursor="+cursor)
	}
	c := &child{}
	c.cmd = exec.CommandContext(ctx, "journalctl", args...) //nolint:gosec // the cursor is the journal's own
	c.cmd.Cancel = func() error { return c.cmd.Process.Signal(syscall.SIGTERM) }
	c.cmd.WaitDelay = 5 * time.Second // it has no state to save
	c.cmd.Stderr = &c.stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.Reader = out
	return c, c.cmd.Start()
}

// child is a running journalctl.
type child struct {
	io.Reader
	cmd    *exec.Cmd
	stderr bytes.Buffer
}

// Close waits for journalctl to exit. Its error includes the output on stderr.
func (c *child) Close() error {
	if err := c.cmd.Wait(); err != nil {
		return fmt.Errorf("journalctl: %w: %s", err, bytes.TrimSpace(c.stderr.Bytes()))
	}
	return nil
}
