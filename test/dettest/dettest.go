// Package dettest is the unmodified det client of Determined 0.38.1 in a test, with the
// Python environment that it and its harness are installed in. Only tests may import it.
package dettest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/test/installed"
)

// Home is the Python environment with the client and the harness.
func Home(t testing.TB) string {
	t.Helper()
	return installed.Environment(t, "the det client", "det", "det")
}

// Client runs det as one user, with a home of its own.
type Client struct {
	t      *testing.T
	server *Server
	bin    string
	env    []string
}

// New is a client that has not logged in at its master.
func New(t *testing.T, url string) *Client {
	t.Helper()
	home := Home(t)
	return &Client{
		t: t, server: sharedServer(t), bin: filepath.Join(home, "bin"),
		env: append(os.Environ(), "DET_MASTER="+url, "HOME="+t.TempDir()),
	}
}

// Login is a client that has logged in at a master.
func Login(t *testing.T, url, user, password string) *Client {
	t.Helper()
	c := New(t, url)
	c.OK(password+"\n", "user", "login", user)
	return c
}

// Resume is a client that uses a session that a user has.
func Resume(t *testing.T, url, user, token string) *Client {
	t.Helper()
	c := New(t, url)
	c.env = append(c.env, "DET_USER="+user, "DET_USER_TOKEN="+token)
	return c
}

// On is the same client, which reports to a subtest.
func (c *Client) On(t *testing.T) *Client {
	other := *c
	other.t = t
	return &other
}

// Python is an invocation of the interpreter that has the client's library, as the same
// user.
func (c *Client) Python(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), filepath.Join(c.bin, "python3"), args...)
	cmd.Env = c.env
	return cmd
}

// Exec runs det; out is both of its streams.
func (c *Client) Exec(stdin string, args ...string) (out string, err error) {
	r, err := c.server.run(c.t.Context(), request{Args: args, Stdin: stdin, Env: c.env})
	return r.Out, err
}

// ExecLine runs det with the arguments of a line, as a shell would.
func (c *Client) ExecLine(stdin, line string) (out string, err error) {
	r, err := c.server.run(c.t.Context(), request{Line: line, Stdin: stdin, Env: c.env})
	return r.Out, err
}

// OK runs det and wants success.
func (c *Client) OK(stdin string, args ...string) string {
	c.t.Helper()
	out, err := c.Exec(stdin, args...)
	if err != nil {
		c.t.Fatalf("det %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// Want runs det and looks for words in what it prints.
func (c *Client) Want(args []string, words ...string) string {
	c.t.Helper()
	out := c.OK("", args...)
	c.look(args, out, words)
	return out
}

// Refused runs det and wants a failure that says the words.
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
