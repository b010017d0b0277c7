// Package dettest runs the unmodified det client of Determined 0.38.1 in a test, in the Python
// environment of the client and its harness. Only tests may import it.
package dettest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/installed"
)

// Home returns the directory of the Python environment with the client and the harness.
func Home(t testing.TB) string {
	t.Helper()
	return installed.Environment(t, "the det client", "det", "det")
}

// Client runs det as one user, with a separate home directory.
type Client struct {
	t      *testing.T
	server *Server
	bin    string
	env    []string
}

// New returns a client without a login.
func New(t *testing.T, url string) *Client {
	t.Helper()
	home := Home(t)
	return &Client{
		t: t, server: sharedServer(t), bin: filepath.Join(home, "bin"),
		env: append(os.Environ(), "DET_MASTER="+url, "HOME="+t.TempDir()),
	}
}

// Login returns a client that has logged in to a master.
func Login(t *testing.T, url, user, password string) *Client {
	t.Helper()
	c := New(t, url)
	c.OK(password+"\n", "user", "login", user)
	return c
}

// Resume returns a client that uses an existing session of a user.
func Resume(t *testing.T, url, user, token string) *Client {
	t.Helper()
	c := New(t, url)
	c.env = append(c.env, "DET_USER="+user, "DET_USER_TOKEN="+token)
	return c
}

// On returns the same client for a subtest.
func (c *Client) On(t *testing.T) *Client {
	other := *c
	other.t = t
	return &other
}

// Python returns a command of the interpreter with the client's library, as the same user.
func (c *Client) Python(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(c.bin, "python3"), args...)
	cmd.Env = c.env
	return cmd
}

// Exec runs det; out is its stdout and stderr.
func (c *Client) Exec(stdin string, args ...string) (out string, err error) {
	r, err := c.server.run(c.t.Context(), request{Args: args, Stdin: stdin, Env: c.env})
	return r.Out, err
}

// ExecLine runs det with arguments that are split like in a shell.
func (c *Client) ExecLine(stdin, line string) (out string, err error) {
	r, err := c.server.run(c.t.Context(), request{Line: line, Stdin: stdin, Env: c.env})
	return r.Out, err
}

// OK runs det and fails the test if det fails.
func (c *Client) OK(stdin string, args ...string) string {
	c.t.Helper()
	out, err := c.Exec(stdin, args...)
	if err != nil {
		c.t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Want runs det and reports an error for each word that is missing in its output.
func (c *Client) Want(args []string, words ...string) string {
	c.t.Helper()
	out := c.OK("", args...)
	c.look(args, out, words)
	return out
}

// Refused runs det and reports an error unless det fails with all words in its output.
func (c *Client) Refused(args []string, words ...string) {
	c.t.Helper()
	out, err := c.Exec("", args...)
	if err == nil {
		c.t.Errorf("det %s succeeded, want it refused:\n%s", strings.Join(args, " "), out)
	}
	c.look(args, out, words)
}

func (c *Client) look(args []string, out string, words []string) {
	c.t.Helper()
	for _, w := range words {
		if !strings.Contains(out, w) {
			c.t.Errorf("det %s: got %q, want it to contain %q", strings.Join(args, " "), out, w)
		}
	}
}
