package contexts

import (
	"fmt"
	"slices"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// MasterFlag selects the master of a command: by --master, or else DET_MASTER, or else the current
// context. The flag and the variable accept the name of a context or an address.
type MasterFlag struct {
	Master string
}

// AddFlag declares --master.
func (t *MasterFlag) AddFlag(fs *pflag.FlagSet) {
	fs.StringVarP(&t.Master, "master", "m", "", "master to connect to, a context or an address (default $DET_MASTER, else the current context)")
}

// NoMasterError reports that no master was selected.
type NoMasterError struct{}

// Error implements error.
func (*NoMasterError) Error() string {
	return "no master selected: set --master or DET_MASTER, or choose a context"
}

// Hint names the commands that select a master.
func (*NoMasterError) Hint() string {
	return "det-deploy local up, or det-deploy login USER --master ADDRESS"
}

// Resolve returns the selected context. named reports whether it comes from the file; a context made from
// an address does not.
func (t MasterFlag) Resolve(s *term.Streams) (c Context, named bool, err error) {
	f, err := Default(s.Getenv)
	if err != nil {
		return Context{}, false, err
	}
	b, err := f.Load()
	if err != nil {
		return Context{}, false, err
	}
	want := t.Master
	if want == "" {
		want = s.Getenv(masterVariable)
	}
	if want == "" {
		c, ok := b.Get(b.Current)
		if !ok {
			return Context{}, false, &NoMasterError{}
		}
		return c, true, nil
	}
	if c, ok := b.find(want); ok {
		return c, true, nil
	}
	if c, err = newContext(s, want); err != nil {
		return c, false, &unresolvedError{err, t.Master != ""}
	}
	return c, false, nil
}

// Choice returns the setting that Resolve follows: "--master", "DET_MASTER" or "the current context".
func (t MasterFlag) Choice(s *term.Streams) string {
	switch {
	case t.Master != "":
		return "--master"
	case s.Getenv(masterVariable) != "":
		return masterVariable
	}
	return "the current context"
}

// masterVariable is the variable that selects the master of commands without --master.
const masterVariable = "DET_MASTER"

// find returns the context with a name or an address.
func (b *Book) find(want string) (Context, bool) {
	if c, ok := b.Get(want); ok {
		return c, true
	}
	u, err := client.ParseURL(want)
	if err != nil {
		return Context{}, false
	}
	i := slices.IndexFunc(b.Contexts, func(c Context) bool { return c.Master == u.String() })
	if i < 0 {
		return Context{}, false
	}
	return b.Contexts[i], true
}

// unresolvedError reports an address that is not a master's.
type unresolvedError struct {
	cause error
	flag  bool
}

func (e *unresolvedError) Error() string { return e.cause.Error() }
func (e *unresolvedError) Unwrap() error { return e.cause }

// FromFlags reports whether the address comes from --master.
func (e *unresolvedError) FromFlags() bool { return e.flag }

// newContext makes a context with an address from the environment variables of the det client and task
// containers.
func newContext(s *term.Streams, address string) (Context, error) {
	u, err := client.ParseURL(address)
	if err != nil {
		return Context{}, fmt.Errorf("cannot find the master: %w", err)
	}
	c := Context{
		Master: u.String(), ServerName: s.Getenv("DET_MASTER_CERT_NAME"),
		User: s.Getenv("DET_USER"), Token: Token(s.Getenv("DET_USER_TOKEN")),
	}
	if file := s.Getenv("DET_MASTER_CERT_FILE"); file != "" {
		ca, err := usage.ReadFile("the CA file in DET_MASTER_CERT_FILE", file)
		if err != nil {
			return Context{}, err
		}
		c.CA = string(ca)
	}
	return c, nil
}

// Dial returns a client for the selected master.
func (t MasterFlag) Dial(s *term.Streams) (*client.Client, error) {
	c, _, err := t.Resolve(s)
	if err != nil {
		return nil, err
	}
	return c.dialMaster(func(cfg *client.Config) {
		cfg.Away = func(err error) { s.Notef("%v; waiting for the master (Ctrl-C to quit)", err) }
		if s.ErrTerminal() {
			cfg.Retrying = func(err error) { s.Notef("%v; trying again for %s (Ctrl-C to quit)", err, client.DefaultRetryFor) }
		}
	})
}

// Client returns a client for the master of c that uses the session of c.
func (c Context) Client() (*client.Client, error) { return c.dialMaster(func(*client.Config) {}) }

func (c Context) dialMaster(configure func(*client.Config)) (*client.Client, error) {
	cfg := client.Config{
		URL: c.Master, Token: string(c.Token), CA: []byte(c.CA),
		ServerName: c.ServerName, Fingerprint: c.Fingerprint,
	}
	if c.Platform != "" {
		cfg.Cluster = c.Name
	}
	configure(&cfg)
	return client.New(cfg)
}
