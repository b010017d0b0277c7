package attest_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
	googletest "github.com/det-deploy/det-deploy/test/google"
)

// google-auth accepts the tokens of the fake metadata server, and the verifier accepts the tokens
// that google-auth obtains from it.
func TestGoogleAuthAcceptsSameTokens(t *testing.T) {
	t.Parallel()
	l := newLab(t, true)
	server := httptest.NewServer(l.world.Metadata(gcptest.Project, zone, string(l.machine)))
	t.Cleanup(server.Close)
	certs := httptest.NewServer(l.world.Certs("key-1", "key-2"))
	t.Cleanup(certs.Close)
	audience := attest.Audience("lab", nonce)
	got := googletest.JudgeTokens(t, strings.TrimPrefix(server.URL, "http://"), audience, certs.URL+"/oauth2/v3/certs", nil)
	if got.Account != l.account || got.Access == "" || got.Believed["fetched"]["email"] != l.account {
		t.Errorf("got account %q, token %q and claims %v, want those of %s", got.Account, got.Access, got.Believed["fetched"], l.account)
	}
	a, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: attest.KindToken, Data: []byte(got.Fetched)})
	if err != nil || a.Instance != l.machine {
		t.Errorf("got %+v and %v of the token that google-auth was given", a, err)
	}
}

// The verifier rejects every forged token that google-auth rejects, except one from a clock that is
// minutes fast. Only the verifier checks the claims about instances, which google-auth ignores.
func TestGoogleAuthRejectsSameTokens(t *testing.T) {
	t.Parallel()
	l := newLab(t, true)
	certs := httptest.NewServer(l.world.Certs("key-1", "key-2"))
	t.Cleanup(certs.Close)
	tokens, taken := make(map[string]string), make(map[string]bool)
	for name, f := range forgeries() {
		tokens[name] = f.token(l)
		_, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: attest.KindToken, Data: []byte(tokens[name])})
		taken[name] = err == nil
	}
	got := googletest.JudgeTokens(t, "", attest.Audience("lab", nonce), certs.URL+"/oauth2/v3/certs", tokens)
	for name, claims := range got.Believed {
		if claims == nil && taken[name] && name != "of a clock that is fast" {
			t.Errorf("%s: google-auth refuses it, and we take it", name)
		}
	}
	for _, name := range []string{"no signature", "a public key as a secret", "another payload", "a key that Google does not have", "another cluster", "over"} {
		if got.Believed[name] != nil {
			t.Errorf("%s: google-auth believes %v", name, got.Believed[name])
		}
	}
	for _, name := range []string{"a token", "of another project", "of a machine of the same name", "without a machine"} {
		if got.Believed[name] == nil {
			t.Errorf("%s: google-auth refuses it, want it to know nothing of machines", name)
		}
	}
}
