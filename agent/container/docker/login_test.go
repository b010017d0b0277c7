package docker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/agent/container"
)

// Not parallel, because it changes PATH.
func TestLoginsAreThoseOfDockersOwnConfiguration(t *testing.T) {
	dir := t.TempDir()
	helper := `#!/bin/sh
read server
case "$server" in
*ecr*) echo '{"Username":"AWS","Secret":"from-'$server'"}';;
*token*) echo '{"Username":"<token>","Secret":"identity"}';;
*broken*) echo "no role" ; exit 1;;
*) echo "credentials not found in native keychain"; exit 1;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-test"), []byte(helper), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	file := filepath.Join(dir, "config.json")
	config := `{
  "auths": {"https://index.docker.io/v1/": {"auth": "YW5uOnNlY3JldA=="}, "reg.example.com:5000": {"auth": "Ym9iOmI6Yg=="}, "bad.example.com": {"auth": "%"}},
  "credHelpers": {"1.ecr.example.com": "test", "token.example.com": "test", "broken.example.com": "test", "nobody.example.com": "test", "evil.example.com": "../x"}
}`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]container.Auth{
		"ubuntu":                           {Username: "ann", Password: "secret", ServerAddress: hub},
		"ann/private:1":                    {Username: "ann", Password: "secret", ServerAddress: hub},
		"docker.io/ann/private":            {Username: "ann", Password: "secret", ServerAddress: hub},
		"reg.example.com:5000/x/y@sha256:": {Username: "bob", Password: "b:b", ServerAddress: "reg.example.com:5000"},
		"1.ecr.example.com/x":              {Username: "AWS", Password: "from-1.ecr.example.com", ServerAddress: "1.ecr.example.com"},
		"token.example.com/x":              {IdentityToken: "identity", ServerAddress: "token.example.com"},
		"nobody.example.com/x":             {},
		"localhost/x":                      {},
	} {
		if got, err := loginFor(t.Context(), file, image); err != nil || got != want {
			t.Errorf("%s: got another login (as %q) and %v, want %q", image, got.Username, err, want.Username)
		}
	}
	for image, want := range map[string]string{
		"bad.example.com/x": "invalid base64", "broken.example.com/x": "docker-credential-test", "evil.example.com/x": "must be a name",
	} {
		if got, err := loginFor(t.Context(), file, image); err == nil || !strings.Contains(err.Error(), want) || got != (container.Auth{}) {
			t.Errorf("%s: got %v, want %q", image, err, want)
		}
	}
	if got, err := loginFor(t.Context(), file+"x", "ubuntu"); err != nil || got != (container.Auth{}) {
		t.Errorf("no file: got %v, want nobody", err)
	}
}
