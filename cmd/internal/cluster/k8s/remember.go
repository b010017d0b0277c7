package k8s

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// Platform is what contexts of these clusters say of where they are.
const Platform = "k8s"

// answerLimit is how long a master may take to say who it is.
const answerLimit = 5 * time.Second

// remember makes the cluster the current context, and logs in when the master answers
// from here, unless an older session is still good. It reports whether there is a
// session.
func remember(ctx context.Context, s *term.Streams, k *wire.K8s, e target.Endpoint, answers bool) (bool, error) {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return false, err
	}
	b, err := f.Load()
	if err != nil {
		return false, err
	}
	c := known(b, k, e)
	if answers && e.URL != "" && reached(ctx, c) {
		if c, err = logIn(ctx, k, c); err != nil {
			return false, err
		}
	}
	return c.Token != "", f.Change(ctx, func(b *contexts.Book) error {
		b.Put(c)
		b.Current = c.Name
		return nil
	})
}

// known is the context of a cluster, with the session of an older one that is the same.
func known(b *contexts.Book, k *wire.K8s, e target.Endpoint) contexts.Context {
	c, _ := b.Get(k.Cluster)
	master := e.URL
	if master == "" {
		master = e.Forwarded() // where the line that is printed makes it answer
	}
	if c.Master != master || c.Namespace != k.Namespace() || c.KubeContext != k.Kube.Context() {
		c.Token = "" // of another cluster that had this id
	}
	c.Name, c.Master, c.CA = k.Cluster, master, string(e.CA)
	c.Platform, c.KubeContext, c.Namespace = Platform, k.Kube.Context(), k.Namespace()
	return c
}

// session asks the master of a cluster as whoever is logged in, or else as admin with
// the first password.
func session(ctx context.Context, s *term.Streams, k *wire.K8s, w Where) (*client.Client, error) {
	e, err := k.Target.Endpoint(ctx)
	if err != nil {
		return nil, err
	}
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return nil, err
	}
	b, err := f.Load()
	if err != nil {
		return nil, err
	}
	c := known(b, k, e)
	if !reached(ctx, c) {
		return nil, &unreachedError{c.Master, kubectl(e.Forward(k.Namespace()), w)}
	}
	if c, err = logIn(ctx, k, c); err != nil {
		return nil, err
	}
	if c.Token == "" {
		return nil, errNotLoggedIn
	}
	return c.Client()
}

// reached reports whether the master answers from here.
func reached(ctx context.Context, c contexts.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	master, err := client.New(client.Config{URL: c.Master, CA: []byte(c.CA), RetryFor: -1})
	if err != nil {
		return false
	}
	defer master.Close()
	_, err = master.Master(ctx)
	return err == nil
}

// logIn keeps a session that is still good, and else begins one of admin's. There is
// none when the first password was changed.
func logIn(ctx context.Context, k *wire.K8s, c contexts.Context) (contexts.Context, error) {
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
	known, err := k.Target.Credentials(ctx)
	if kind := cloud.KindOf(err); kind == cloud.NotFound || kind == cloud.Denied {
		return c, nil // somebody else keeps it
	}
	if err != nil {
		return c, err
	}
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

// forget drops the context of a cluster that is gone.
func forget(ctx context.Context, s *term.Streams, k *wire.K8s) error {
	f, err := contexts.Default(s.Getenv)
	if err != nil {
		return err
	}
	b, err := f.Load()
	if err != nil {
		return err
	}
	if c, ok := b.Get(k.Cluster); !ok || c.Platform != Platform || c.Namespace != k.Namespace() {
		return nil
	}
	return f.Forget(ctx, k.Cluster)
}

// kubectl gives a kubectl command the flags that lead to the same Kubernetes.
func kubectl(line string, w Where) string {
	more := ""
	if w.Kubeconfig != "" {
		more += " --kubeconfig " + w.Kubeconfig
	}
	if w.Context != "" {
		more += " --context " + w.Context
	}
	return strings.Replace(line, "kubectl", "kubectl"+more, 1)
}
