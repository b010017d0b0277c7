package attest_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/attest"
	gcptest "github.com/det-deploy/det-deploy/test/fake/gcp"
)

// certs is a fake of Google's key endpoint, whose keys can be changed.
type certs struct {
	handler atomic.Pointer[http.Handler]
	asked   atomic.Int32
}

func (c *certs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.asked.Add(1)
	(*c.handler.Load()).ServeHTTP(w, r)
}

func (c *certs) show(h http.Handler) { c.handler.Store(&h) }

// try verifies a token signed with a key and returns the kind of the error.
func (l *lab) try(t *testing.T, keyID string) cloud.Kind {
	t.Helper()
	claims := l.world.Claims(gcptest.Project, zone, string(l.machine), attest.Audience("lab", nonce))
	_, err := l.Attest(t.Context(), "lab", cloud.Proof{Kind: attest.KindToken, Data: []byte(l.world.SignToken(keyID, claims))})
	return cloud.KindOf(err)
}

func TestKeysAreCachedAndFetchedOncePerMinute(t *testing.T) {
	t.Parallel()
	l := newLab(t, true)
	page := new(certs)
	page.show(l.world.Certs("key-1"))
	l.Keys = &attest.Keys{Transport: gcptest.InProcess(page), Now: l.world.Now}
	step := func(what, keyID string, want cloud.Kind, asked int32) {
		t.Helper()
		if got := l.try(t, keyID); got != want || page.asked.Load() != asked {
			t.Errorf("%s: got %q after %d requests, want %q after %d", what, got, page.asked.Load(), want, asked)
		}
	}
	step("the first token", "key-1", "", 1)
	for range 20 {
		step("a known key", "key-1", "", 1)
		step("an unknown key at once", "key-2", cloud.Denied, 1)
	}
	l.world.Advance(time.Minute)
	step("an unknown key after a minute", "key-2", cloud.Denied, 2)
	step("and again", "key-3", cloud.Denied, 2)
	page.show(l.world.Certs("key-1", "key-2"))
	l.world.Advance(time.Minute)
	step("a new key", "key-2", "", 3)

	l.world.Advance(6 * time.Hour) // longer than the caching time
	page.show(l.world.Certs("key-2"))
	step("a key that was withdrawn", "key-1", cloud.Denied, 4)
	step("one that was not", "key-2", "", 4)
}

func TestKeysUnavailable(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.HandlerFunc{
		"out of order": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		},
		"another page": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"no keys":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"keys": []}`)) },
		"a key too weak": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys": [{"kid": "key-1", "kty": "RSA", "alg": "RS256", "n": "AQAB", "e": "AQAB"}]}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, true)
			page := new(certs)
			page.show(h)
			l.Keys = &attest.Keys{Transport: gcptest.InProcess(page), Now: l.world.Now}
			for range 3 {
				if got := l.try(t, "key-1"); got != cloud.Unavailable || page.asked.Load() != 1 {
					t.Errorf("got %q after %d requests, want it unavailable after 1", got, page.asked.Load())
				}
			}
			page.show(l.world.Certs("key-1"))
			l.world.Advance(time.Minute)
			if got := l.try(t, "key-1"); got != "" {
				t.Errorf("when they are there: got %q", got)
			}
		})
	}
}
