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

// scope is the OAuth scope of tokens. IAM roles restrict the permissions.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// credentialSource loads application default credentials of any kind (user, service account key,
// attached service account, workload identity) on first use.
type credentialSource struct {
	// impersonate is a chain of service accounts, each of which impersonates the next.
	impersonate []string
	// quotaProject is the quota project of the gcloud configuration, project the project of the
	// cluster.
	quotaProject, project string

	once  sync.Once
	creds *auth.Credentials
	quota string
	err   error
}

// load loads the credentials, once.
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

// findQuotaProject returns the project whose quota the calls count against. User credentials have
// no project, so it is the cluster's.
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

// isPerson reports whether a credentials file contains user credentials.
func isPerson(file []byte) bool {
	var f struct{ Type string }
	err := json.Unmarshal(file, &f)
	return err == nil && strings.HasSuffix(f.Type, "authorized_user")
}

// findIdentity returns the account of the credentials, or "" if they contain none.
func (s *credentialSource) findIdentity(ctx context.Context) (string, error) {
	if err := s.load(ctx); err != nil {
		return "", &cloud.Error{Kind: cloud.Denied, Op: "gcp", Fix: fixLogin, Err: &credentialsError{err}}
	}
	if len(s.impersonate) > 0 {
		return s.impersonate[len(s.impersonate)-1], nil
	}
	file := s.creds.JSON()
	if len(file) == 0 { // an attached service account
		email, err := metadata.Server{}.Read(ctx, "instance/service-accounts/default/email")
		if err != nil {
			return "", nil //nolint:nilerr // the credentials work without a name
		}
		return email, nil
	}
	return identityIn(file), nil
}

// identityIn returns the account in a credentials file. An impersonated account is part of a URL:
// "…/serviceAccounts/ci@vision-lab.iam.gserviceaccount.com:generateAccessToken".
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

// projectID returns the project of the credentials, or "" if they have none or cannot be loaded:
// the first call then returns the error.
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

// authenticator adds credentials to requests.
type authenticator struct {
	source *credentialSource
	next   http.RoundTripper
}

// RoundTrip sends a request with a token. It returns an error without sending the request if it
// obtains no token.
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

// WithToken returns a transport that adds a token to requests, for a program that obtains its
// tokens itself. A request fails without being sent if token returns an error.
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

// credentialsError is an error of loading credentials, to distinguish it from an error of a
// service.
type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return "no credentials: " + e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }
