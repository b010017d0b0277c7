package login

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/contexts"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/master/api/client"
)

// trustMaster establishes trust in the master's certificate and returns c with the authority or
// fingerprint. No credentials are sent before it has succeeded.
func (o *loginOptions) trustMaster(ctx context.Context, c contexts.Context) (contexts.Context, error) {
	var err error
	switch {
	case o.CAFile != "":
		c.Fingerprint = ""
		c.CA, err = readCA(o.CAFile)
		return c, err
	case o.Fingerprint != "":
		c.CA, c.Fingerprint = "", o.Fingerprint
		return c, nil
	case !strings.HasPrefix(c.Master, "https:"), c.CA != "":
		return c, nil
	}
	shown, err := client.Peek(ctx, c.Master)
	if err != nil {
		return c, fmt.Errorf("cannot log in as %s: %w", o.Args[0], err)
	}
	if shown.Trusted || client.SameFingerprint(shown.Fingerprint, c.Fingerprint) {
		return c, nil
	}
	return o.accept(ctx, c, shown)
}

// accept shows a certificate to the user and pins it if they confirm it.
func (o *loginOptions) accept(ctx context.Context, c contexts.Context, shown client.Certificate) (contexts.Context, error) {
	if c.Fingerprint != "" {
		o.Notef("The certificate of %s has CHANGED.", c.Master)
		o.Notef("  previous %s", c.Fingerprint)
	} else {
		o.Notef("The certificate of %s is not signed by a known authority.", c.Master)
	}
	o.Notef("  SHA-256 %s", shown.Fingerprint)
	o.Notef("  subject  %s, expires %s", shown.Subject, shown.Expires.UTC().Format(time.DateOnly))
	ok, err := o.Confirm(ctx, term.Question{Text: "Is this the fingerprint of your master?", Flag: "--fingerprint " + shown.Fingerprint + " if that is your master's"})
	if err != nil {
		return c, err
	}
	if !ok {
		return c, &declinedError{c.Master}
	}
	c.Fingerprint = shown.Fingerprint
	return c, nil
}

// declinedError reports that the user did not accept a certificate.
type declinedError struct{ master string }

func (e *declinedError) Error() string {
	return fmt.Sprintf("cannot log in to %s: the certificate was not accepted; no credentials were sent", e.master)
}

func (e *declinedError) Hint() string {
	return "compare the fingerprint with the master's log, or give its CA with --ca-file"
}

// wrongError reports a rejected login.
type wrongError struct{ user string }

func (e *wrongError) Error() string {
	return fmt.Sprintf("cannot log in as %s: wrong user or password", e.user)
}

// Denied selects the exit code for denied requests.
func (e *wrongError) Denied() bool { return true }

// explainRefusal replaces the master's "unauthenticated" error by a *wrongError.
func explainRefusal(err error, user string) error {
	if client.KindOf(err) == client.Unauthenticated {
		return &wrongError{user}
	}
	return err
}

// nameFor returns the name of a context: that of the cluster, or else the master's host.
func nameFor(c contexts.Context) string {
	if c.Name != "" {
		return c.Name
	}
	u, err := url.Parse(c.Master)
	if err != nil || u.Hostname() == "" {
		return "default"
	}
	return u.Hostname()
}
