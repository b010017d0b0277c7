package docker

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/agent/container"
)

// logins is the part of Docker's configuration with the credentials of this user, as written by
// `docker login`.
type logins struct {
	Auths map[string]struct {
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	// Helpers are credential helpers by registry; Store is the helper for all others.
	Helpers map[string]string `json:"credHelpers"`
	Store   string            `json:"credsStore"`
}

// hub is the key of Docker Hub in Docker's configuration.
const hub = "https://index.docker.io/v1/"

// helperTimeout is the timeout of a credential helper, some of which call a cloud API.
const helperTimeout = 30 * time.Second

// loginFor returns this user's credentials for the registry of an image, or an empty Auth without a
// login. It reads them each time, because registry tokens expire after hours.
func loginFor(ctx context.Context, file, image string) (container.Auth, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return container.Auth{}, nil
	}
	var all logins
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return container.Auth{}, fmt.Errorf("read %s: %w", file, err)
	}
	server := registryOf(image)
	helper := all.Store
	if h := all.Helpers[server]; h != "" {
		helper = h
	}
	if helper != "" {
		a, err := askHelper(ctx, helper, server)
		if err != nil || a != (container.Auth{}) {
			return a, err
		}
	}
	for _, key := range []string{server, "https://" + server, "https://" + server + "/v1/", "https://" + server + "/v2/"} {
		if l, found := all.Auths[key]; found && (l.Auth != "" || l.IdentityToken != "") {
			return decodeLogin(server, l.Auth, l.IdentityToken)
		}
	}
	return container.Auth{}, nil
}

func decodeLogin(server, auth, identity string) (container.Auth, error) {
	a := container.Auth{ServerAddress: server, IdentityToken: identity}
	text, err := base64.StdEncoding.DecodeString(auth)
	if err != nil {
		return container.Auth{}, fmt.Errorf("read the credentials for registry %s: invalid base64", server)
	}
	a.Username, a.Password, _ = strings.Cut(string(text), ":")
	return a, nil
}

// registryOf returns the registry of an image, as named in Docker's configuration.
func registryOf(image string) string {
	first, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(first, ".:") && first != "localhost" || first == "docker.io" {
		return hub
	}
	return first
}

// askHelper runs a Docker credential helper. It returns an empty Auth if the helper has no
// credentials for the registry.
func askHelper(ctx context.Context, helper, server string) (container.Auth, error) {
	if strings.ContainsAny(helper, "/\\") {
		return container.Auth{}, fmt.Errorf("credential helper %q: must be a name without a path", helper)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "docker-credential-"+helper, "get")
	c.Stdin = strings.NewReader(server)
	var out bytes.Buffer
	c.Stdout = &out
	err := c.Run()
	if err != nil && strings.Contains(out.String(), "credentials not found") {
		return container.Auth{}, nil
	}
	var answer struct{ Username, Secret string }
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &answer)
	}
	if err != nil {
		return container.Auth{}, fmt.Errorf("run docker-credential-%s for registry %s: %w", helper, server, err)
	}
	a := container.Auth{ServerAddress: server, Username: answer.Username, Password: answer.Secret}
	if answer.Username == "<token>" {
		a.Username, a.Password, a.IdentityToken = "", "", answer.Secret
	}
	return a, nil
}

// loginFile returns the path of Docker's configuration of this user.
func loginFile() string {
	if dir := os.Getenv("DOCKER_CONFIG"); dir != "" {
		return filepath.Join(dir, "config.json")
	}
	home, err := os.UserHomeDir()
	if err != nil { // a systemd unit without HOME runs as root
		home = "/root"
	}
	return filepath.Join(home, ".docker", "config.json")
}
