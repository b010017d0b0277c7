package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/internal/atomicfile"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Remembered returns the saved context with a cluster's ID, or an empty one if there is none.
func Remembered(s *term.Streams, cluster string) (contexts.Context, error) {
	b, err := loadContexts(s)
	if err != nil {
		return contexts.Context{}, err
	}
	c, _ := b.Get(cluster)
	return c, nil
}

// loadContexts reads the user's contexts.
func loadContexts(s *term.Streams) (*contexts.Book, error) {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return nil, err
	}
	return f.Load()
}

// noteSwitch tells that up has changed the current context, and that DET_MASTER counts before it.
func noteSwitch(s *term.Streams, before string, now *contexts.Book) {
	if _, kept := now.Get(before); kept && before != now.Current {
		s.Notef("Commands now use cluster %s instead of %s; `%s` switches back.", now.Current, before, s.Command("context use "+before))
	}
	if text := now.Overridden(s.Getenv, now.Current); text != "" {
		s.Notef("%s", text)
	}
}

// Remember saves c as the current context.
func Remember(ctx context.Context, s *term.Streams, c contexts.Context) error {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return err
	}
	return f.Save(ctx, c)
}

// Forget deletes the context of a removed cluster if matches returns true for it.
func Forget(ctx context.Context, s *term.Streams, cluster string, matches func(contexts.Context) bool) error {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return err
	}
	c, err := Remembered(s, cluster)
	if err != nil || c.Name == "" || !matches(c) {
		return err
	}
	_ = os.Remove(caFile(f, cluster)) // the authority is no longer used
	return f.Change(ctx, func(b *contexts.Book) error {
		was := b.Current
		b.Drop(cluster)
		if was == cluster && b.Current != "" {
			s.Notef("Commands use cluster %s again.", b.Current)
		}
		return nil
	})
}

// WriteCA writes the certificate authority of the master to a file, for programs that do not read
// contexts, and returns its path.
func WriteCA(s *term.Streams, cluster string, ca []byte) (string, error) {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return "", err
	}
	path := caFile(f, cluster)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("cannot store the cluster's certificate: %w", err)
	}
	if err := atomicfile.Write(path, ca, 0o600); err != nil {
		return "", fmt.Errorf("cannot store the cluster's certificate: %w", err)
	}
	return path, nil
}

func caFile(f contexts.File, cluster string) string {
	return filepath.Join(filepath.Dir(f.Path), "ca", cluster+".pem")
}

// First returns the account with which a cluster was created. found is false if its password is stored
// elsewhere.
type First func(ctx context.Context) (user, password string, found bool, err error)

// LogIn keeps the session of c if it is valid. Otherwise it logs in with the initial password. The
// returned context has no session if that password was changed.
func LogIn(ctx context.Context, c contexts.Context, first First) (contexts.Context, error) {
	master, err := c.Client()
	if err != nil {
		return c, err
	}
	defer master.Close()
	if c.Token != "" {
		if _, err := master.Me(ctx); err == nil {
			return c, nil
		}
	}
	c.Token, c.User = "", ""
	user, password, found, err := first(ctx)
	if err != nil || !found {
		return c, err
	}
	reply, err := master.Login(ctx, user, password)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Denied() {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("cannot log in as %s: %w", user, err)
	}
	c.User, c.Token = user, contexts.Token(reply.GetToken())
	return c, nil
}

// answerLimit is the timeout of Reach.
const answerLimit = 5 * time.Second

// Reach returns an error unless the master answers a single request.
func Reach(ctx context.Context, c contexts.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	master, err := client.New(client.Config{URL: c.Master, CA: []byte(c.CA), ServerName: c.ServerName, RetryFor: -1})
	if err != nil {
		return err
	}
	defer master.Close()
	_, err = master.Master(ctx)
	return err
}
