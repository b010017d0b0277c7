package contexts

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
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
		want = s.Getenv("DET_MASTER")
	}
	if want == "" {
		c, ok := b.Get(b.Current)
		if !ok {
			return Context{}, false, &NoMasterError{}
		}
		return c, true, nil
	}
	if c, ok := b.Get(want); ok {
		return c, true, nil
	}
	c, named, err = byAddress(s, b, want)
	if err != nil {
		return c, named, &unresolvedError{err, t.Master != ""}
	}
	return c, named, nil
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

// byAddress returns the context with an address, or makes one from the environment variables of the det
// client and task containers.
func byAddress(s *term.Streams, b *Book, address string) (Context, bool, error) {
	u, err := client.ParseURL(address)
	if err != nil {
		return Context{}, false, fmt.Errorf("cannot find the master: %w", err)
	}
	for _, c := range b.Contexts {
		if c.Master == u.String() {
			return c, true, nil
		}
	}
	c := Context{
		Master: u.String(), ServerName: s.Getenv("DET_MASTER_CERT_NAME"),
		User: s.Getenv("DET_USER"), Token: Token(s.Getenv("DET_USER_TOKEN")),
	}
	if file := s.Getenv("DET_MASTER_CERT_FILE"); file != "" {
		ca, err := os.ReadFile(file)
		if err != nil {
			return Context{}, false, fmt.Errorf("cannot read the CA file in DET_MASTER_CERT_FILE: %w", err)
		}
		c.CA = string(ca)
	}
	return c, false, nil
}

// Dial returns a client for the selected master.
func (t MasterFlag) Dial(s *term.Streams) (*client.Client, error) {
	c, _, err := t.Resolve(s)
	if err != nil {
		return nil, err
	}
	return c.dialMaster(func(err error) { s.Notef("%v; waiting for the master (Ctrl-C to quit)", err) })
}

// Client returns a client for the master of c that uses the session of c.
func (c Context) Client() (*client.Client, error) { return c.dialMaster(nil) }

func (c Context) dialMaster(away func(error)) (*client.Client, error) {
	return client.New(client.Config{
		Away: away,
		URL:  c.Master, Token: string(c.Token), CA: []byte(c.CA),
		ServerName: c.ServerName, Fingerprint: c.Fingerprint,
	})
}
