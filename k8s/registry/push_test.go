package registry_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	server "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/k8s/registry"
)

// place is a registry that requires a login.
type place struct {
	*httptest.Server

	at string
	// uploads counts upload requests.
	uploads atomic.Int32
}

const user, password = "ann", "hunter2"

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{}
	inner := server.New(server.Logger(log.New(io.Discard, "", 0)))
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, pw, _ := r.BasicAuth(); u != user || pw != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"log in"}]}`, http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPut || r.Method == http.MethodPatch {
			p.uploads.Add(1)
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	p.at = strings.TrimPrefix(p.URL, "http://")
	return p
}

// login creates a directory for DOCKER_CONFIG; text is its config.json.
func login(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("DOCKER_CONFIG", dir)
}

func (p *place) auths() string {
	return fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, p.at, base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// archive is an image in a file, as written by `make image`.
func archive(t *testing.T, tag, arch string) string {
	t.Helper()
	image, err := random.Image(100_000, 2)
	if err != nil {
		t.Fatal(err)
	}
	image, err = mutate.ConfigFile(image, platformed(t, image, arch))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), arch+".tar")
	if err := tarball.WriteToFile(out, ref, image); err != nil {
		t.Fatal(err)
	}
	return out
}

func platformed(t *testing.T, image v1.Image, arch string) *v1.ConfigFile {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	return config
}

func open(t *testing.T, files ...string) *registry.Source {
	t.Helper()
	s, err := registry.Open(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAnImageIsPushedOnceWithTheUsersLogin(t *testing.T) {
	p := newPlace(t)
	login(t, p.auths())
	r, s := registry.Registry{At: p.at + "/team/"}, open(t, archive(t, "det-deploy:v1", "amd64"))
	before, err := r.Plan(t.Context(), s)
	if err != nil || before.Image != p.at+"/team/det-deploy:v1" || before.Was != "" || before.Done() {
		t.Fatalf("got %+v, %v, want a new image", before, err)
	}
	var told []int64
	if err := r.Push(t.Context(), s, func(done, total int64) { told = append(told, done, total) }); err != nil {
		t.Fatal(err)
	}
	if n := len(told); n < 2 || told[n-2] < 100_000 || told[n-2] > told[n-1] {
		t.Errorf("got progress %v, want bytes of the two layers' sum", told)
	}
	after, err := r.Plan(t.Context(), s)
	if err != nil || !after.Done() || after.Digest != before.Digest {
		t.Errorf("got %+v, %v, want %s to be there", after, err, before.Digest)
	}
	sent := p.uploads.Load()
	if err := r.Push(t.Context(), s, nil); err != nil || p.uploads.Load()-sent > 1 {
		t.Errorf("got %v and %d more uploads, want none but the manifest's", err, p.uploads.Load()-sent)
	}
	other, err := r.Plan(t.Context(), open(t, archive(t, "det-deploy:v1", "amd64")))
	if err != nil || other.Was != after.Digest || other.Done() {
		t.Errorf("got %+v, %v, want the name to be another image's", other, err)
	}
}

func TestLoginFromCredentialHelper(t *testing.T) {
	p := newPlace(t)
	login(t, fmt.Sprintf(`{"credHelpers": {%q: "vault"}}`, p.at))
	bin := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\ncat >/dev/null\necho '{\"ServerURL\":%q,\"Username\":%q,\"Secret\":%q}'\n", p.at, user, password)
	if err := os.WriteFile(filepath.Join(bin, "docker-credential-vault"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	if err := (registry.Registry{At: p.at}).Push(t.Context(), open(t, archive(t, "det-deploy:v1", "amd64")), nil); err != nil {
		t.Error(err)
	}
}

func TestMissingLoginHasHint(t *testing.T) {
	p := newPlace(t)
	login(t, `{}`)
	r, s := registry.Registry{At: p.at + "/team"}, open(t, archive(t, "det-deploy:v1", "amd64"))
	_, looking := r.Plan(t.Context(), s)
	for what, err := range map[string]error{"looking": looking, "pushing": r.Push(t.Context(), s, nil)} {
		if !hints(err, cloud.Denied, "`docker login "+p.at+"`") {
			t.Errorf("%s: got %v, want an error with docker login %s", what, err, p.at)
		}
	}
}

func TestSeveralArchitecturesBecomeOneImage(t *testing.T) {
	p := newPlace(t)
	login(t, p.auths())
	r, s := registry.Registry{At: p.at}, open(t, archive(t, "det-deploy:v1", "arm64"), archive(t, "det-deploy:v1", "amd64"))
	if err := r.Push(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	plan, err := r.Plan(t.Context(), s)
	if err != nil || !plan.Done() || s.Platforms() != "linux/amd64, linux/arm64" {
		t.Errorf("got %+v for %s, %v, want both to be there", plan, s.Platforms(), err)
	}
}

func TestMismatchedArchivesAreRejected(t *testing.T) {
	t.Parallel()
	one := archive(t, "det-deploy:v1", "amd64")
	none := filepath.Join(t.TempDir(), "none.tar")
	if err := os.WriteFile(none, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, files := range map[string][]string{
		"two versions": {one, archive(t, "det-deploy:v2", "arm64")}, "one platform twice": {one, archive(t, "det-deploy:v1", "amd64")},
		"no archive": {none}, "no file": {one + "x"},
	} {
		if _, err := registry.Open(files); cloud.KindOf(err) != cloud.Invalid {
			t.Errorf("%s: got %v, want an error", what, err)
		}
	}
}

// A registry on this machine may redirect its clients elsewhere.
func TestNothingLeavesThisMachineWithoutTLS(t *testing.T) {
	login(t, `{}`)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			w.Header().Set("Location", "http://192.0.2.7/v2/upload")
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path != "/v2/":
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(elsewhere.Close)
	r := registry.Registry{At: strings.TrimPrefix(elsewhere.URL, "http://")}
	err := r.Push(t.Context(), open(t, archive(t, "det-deploy:v1", "amd64")), nil)
	if !hints(err, cloud.Invalid, "--plain-http") {
		t.Errorf("got %v, want an error with --plain-http", err)
	}
}

// hints reports whether err has the kind and a fix that contains what.
func hints(err error, kind cloud.Kind, what string) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Kind == kind && strings.Contains(e.Fix, what)
}
