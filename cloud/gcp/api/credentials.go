package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	"cloud.google.com/go/auth/credentials/impersonate"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/metadata"
)

// scope is what is asked for; what may be done with it is decided by roles.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// credentialSource finds application default credentials of whatever kind (a user's, a
// key, the machine's, a workload's identity) when they are first needed.
type credentialSource struct {
	// impersonate are service accounts, of which each impersonates the next.
	impersonate []string
	// quotaProject is that of gcloud's configuration, and project the one that is worked
	// on.
	quotaProject, project string

	once  sync.Once
	creds *auth.Credentials
	quota string
	err   error
}

// load finds the credentials, once.
func (s *credentialSource) load(ctx context.Context) error {
	s.once.Do(func() {
		if s.creds, s.err = s.detect(); s.err != nil {
			return
		}
		s.quota, s.err = s.findQuotaProject(ctx)
	})
	return s.err
}

func (s *credentialSource) detect() (*auth.Credentials, error) {
	base, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{scope}})
	if err != nil || len(s.impersonate) == 0 {
		return base, err
	}
	last := len(s.impersonate) - 1
	return impersonate.NewCredentials(&impersonate.CredentialsOptions{
		TargetPrincipal: s.impersonate[last], Delegates: s.impersonate[:last], Scopes: []string{scope}, Credentials: base,
	})
}

// findQuotaProject is the project whose quota the calls count against. A person has none
// of their own, so that it is the one that is worked on.
func (s *credentialSource) findQuotaProject(ctx context.Context) (string, error) {
	own, err := s.creds.QuotaProjectID(ctx)
	switch {
	case err != nil || own != "":
		return own, err
	case s.quotaProject != "":
		return s.quotaProject, nil
	case len(s.impersonate) == 0 && isPerson(s.creds.JSON()):
		return s.project, nil
	}
	return "", nil
}

// isPerson reports whether a credentials file is that of a person who logged in.
func isPerson(file []byte) bool {
	var f struct{ Type string }
	err := json.Unmarshal(file, &f)
	return err == nil && strings.HasSuffix(f.Type, "authorized_user")
}

// findIdentity is the account that the credentials are of, or empty where they do not say.
func (s *credentialSource) findIdentity(ctx context.Context) (string, error) {
	if err := s.load(ctx); err != nil {
		return "", &cloud.Error{Kind: cloud.Denied, Op: "gcp", Fix: fixLogin, Err: &credentialsError{err}}
	}
	if len(s.impersonate) > 0 {
		return s.impersonate[len(s.impersonate)-1], nil
	}
	file := s.creds.JSON()
	if len(file) == 0 { // a machine's own
		email, err := metadata.Server{}.Read(ctx, "instance/service-accounts/default/email")
		if err != nil {
			return "", nil //nolint:nilerr // the credentials work without a name
		}
		return email, nil
	}
	return identityIn(file), nil
}

// identityIn is the account in a credentials file. That of an account that is impersonated
// is in an address: "…/serviceAccounts/ci@vision-lab.iam.gserviceaccount.com:generateAccessToken".
func identityIn(file []byte) string {
	var f struct {
		Email   string `json:"client_email"`
		Account string `json:"account"`
		Address string `json:"service_account_impersonation_url"`
	}
	if json.Unmarshal(file, &f) != nil {
		return ""
	}
	_, impersonated, _ := strings.Cut(f.Address, "/serviceAccounts/")
	impersonated, _, _ = strings.Cut(impersonated, ":")
	return cmp.Or(impersonated, f.Email, f.Account)
}

// projectID is the project that the credentials belong to, or empty where they belong to
// none or there are none: the first call says why.
func (s *credentialSource) projectID(ctx context.Context) string {
	creds, err := credentials.DetectDefault(&credentials.DetectOptions{Scopes: []string{scope}})
	if err != nil {
		return ""
	}
	id, err := creds.ProjectID(ctx)
	if err != nil {
		return ""
	}
	return id
}

// authenticator puts credentials onto requests.
type authenticator struct {
	source *credentialSource
	next   http.RoundTripper
}

// RoundTrip sends a request with a token. Without one nothing is sent.
func (a *authenticator) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := a.source.load(r.Context()); err != nil {
		return nil, &credentialsError{err}
	}
	token, err := a.source.creds.Token(r.Context())
	if err != nil {
		return nil, &credentialsError{err}
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", cmp.Or(token.Type, "Bearer")+" "+token.Value)
	if a.source.quota != "" {
		r.Header.Set("X-Goog-User-Project", a.source.quota)
	}
	return a.next.RoundTrip(r)
}

// WithToken puts a token onto requests, for a program that knows whose it is. Without one
// nothing is sent.
func WithToken(next http.RoundTripper, token func(context.Context) (string, error)) http.RoundTripper {
	return &bearer{token, next}
}

type bearer struct {
	token func(context.Context) (string, error)
	next  http.RoundTripper
}

// RoundTrip sends a request with a token.
func (b *bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := b.token(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // nothing was read
		}
		return nil, &credentialsError{err}
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return b.next.RoundTrip(r)
}

// credentialsError is the error of credentials that could not be had, so that it is
// distinct from a service's answer.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "no credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }
