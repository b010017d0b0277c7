package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/rogpeppe/go-internal/testscript"
)

// images starts a registry that requires a login, and logs the script's user in. It sets the given
// variable to the registry's address:
//
//	registry REGISTRY
func images(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: registry NAME")
	}
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "hunter2" {
			w.Header().Set("WWW-Authenticate", `Basic realm="images"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	ts.Defer(s.Close)
	at := strings.TrimPrefix(s.URL, "http://")
	ts.Setenv(args[0], at)
	dir := ts.MkAbs(".docker")
	ts.Check(os.MkdirAll(dir, 0o700))
	auth := base64.StdEncoding.EncodeToString([]byte("ann:hunter2"))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), fmt.Appendf(nil, `{"auths": {%q: {"auth": %q}}}`, at, auth), 0o600))
}

// imageFile writes a minimal image like `make image`:
//
//	image FILE NAME:TAG ARCHITECTURE
func imageFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: image FILE NAME:TAG ARCHITECTURE")
	}
	tag, err := name.NewTag(args[1])
	ts.Check(err)
	image, err := random.Image(1000, 1)
	ts.Check(err)
	config, err := image.ConfigFile()
	ts.Check(err)
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", args[2]
	image, err = mutate.ConfigFile(image, config)
	ts.Check(err)
	ts.Check(tarball.WriteToFile(ts.MkAbs(args[0]), tag, image))
}
