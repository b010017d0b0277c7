package aws

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Platform is what contexts of these clusters say of where they are.
const Platform = "aws"

// remember makes the cluster the current context, logs in when the master answers,
// unless an older session is still good, and returns the file that holds what signs
// the master's certificate: other programs take no context.
func remember(ctx context.Context, s *term.Streams, a *wire.AWS, answers bool, r *upResult) (ca string, err error) {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return "", err
	}
	e, err := a.Target.Endpoint(ctx)
	if err != nil {
		return "", err
	}
	b, err := f.Load()
	if err != nil {
		return "", err
	}
	c, _ := b.Get(a.Cluster)
	if c.Master != e.URL {
		c.Token = "" // of another cluster that had this id
	}
	c.Name, c.Master, c.CA, c.ServerName = a.Cluster, e.URL, string(e.CA), e.Name
	c.Platform, c.Region = Platform, a.Region()
	if answers {
		if c, err = logIn(ctx, a, c); err != nil {
			return "", err
		}
	}
	r.LoggedIn = answers && c.Token != ""
	ca = filepath.Join(filepath.Dir(f.Path), "ca", a.Cluster+".pem")
	if err := writeFile(ca, e.CA); err != nil {
		return "", err
	}
	return ca, f.Change(ctx, func(b *contexts.Book) error {
		b.Put(c)
		b.Current = c.Name
		return nil
	})
}

// logIn keeps a session that is still good, and else begins one of admin's. There
// is none when the first password was changed.
func logIn(ctx context.Context, a *wire.AWS, c contexts.Context) (contexts.Context, error) {
	if c.Token != "" && accepts(ctx, c) {
		return c, nil
	}
	c.Token, c.User = "", ""
	known, err := a.Target.Credentials(ctx)
	if err != nil {
		return c, err
	}
	master, err := c.Client()
	if err != nil {
		return c, err
	}
	defer master.Close()
	reply, err := master.Login(ctx, known.User, known.Password.Reveal())
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Denied() {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("log in as %s: %w", known.User, err)
	}
	c.User, c.Token = known.User, contexts.Token(reply.GetToken())
	return c, nil
}

// accepts reports whether the master takes the session of c.
func accepts(ctx context.Context, c contexts.Context) bool {
	master, err := c.Client()
	if err != nil {
		return false
	}
	defer master.Close()
	_, err = master.Me(ctx)
	return err == nil
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("keep the cluster's certificate: %w", err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return fmt.Errorf("keep the cluster's certificate: %w", err)
	}
	return nil
}

// forget drops the context of a cluster that is gone.
func forget(ctx context.Context, s *term.Streams, cluster string) error {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return err
	}
	b, err := f.Load()
	if err != nil {
		return err
	}
	if c, ok := b.Get(cluster); !ok || c.Platform != Platform {
		return nil
	}
	_ = os.Remove(filepath.Join(filepath.Dir(f.Path), "ca", cluster+".pem")) // it signs nothing any more
	return f.Forget(ctx, cluster)
}
