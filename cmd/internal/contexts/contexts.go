// Package contexts remembers the masters that a user talks to: where each is,
// how its certificate is recognised, and as whom the user is logged in. They
// stand in $XDG_CONFIG_HOME/det-deploy/contexts.yaml, readable by the user only.
package contexts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Version is the form of the file. A file of another version is refused rather
// than misread.
const Version = 1

// Context is one master and the user's session with it.
type Context struct {
	// Name is what the user calls it.
	Name string `yaml:"name" json:"name"`
	// Master is its base address.
	Master string `yaml:"master" json:"master"`
	// Cluster is the ID of the cluster, as the master gives it.
	Cluster string `yaml:"cluster,omitempty" json:"cluster"`
	// Platform is where the cluster runs, "aws", and Region which part of it, for
	// those that this user installed.
	Platform string `yaml:"platform,omitempty" json:"platform,omitempty"`
	Region   string `yaml:"region,omitempty" json:"region,omitempty"`
	// Project is the Google project that it is in.
	Project string `yaml:"project,omitempty" json:"project,omitempty"`
	// KubeContext and Namespace are where on Kubernetes it runs.
	KubeContext string `yaml:"kube_context,omitempty" json:"kube_context,omitempty"`
	Namespace   string `yaml:"namespace,omitempty" json:"namespace,omitempty"`
	// CA is a PEM bundle that signs the master's certificate.
	CA string `yaml:"ca,omitempty" json:"-"`
	// ServerName is the name in the certificate where it is not the host of Master.
	ServerName string `yaml:"server_name,omitempty" json:"server_name,omitempty"`
	// Fingerprint is the SHA-256 of the certificate that the user accepted.
	Fingerprint string `yaml:"fingerprint,omitempty" json:"fingerprint,omitempty"`
	// User and Token are the session; both are empty after a logout.
	User  string `yaml:"user,omitempty" json:"user"`
	Token Token  `yaml:"token,omitempty" json:"-"`
}

// Token is a session's token. It prints redacted; only the file holds it.
type Token string

// String hides the token.
func (Token) String() string { return "‹redacted›" }

// GoString hides the token.
func (Token) GoString() string { return "‹redacted›" }

// MarshalJSON refuses: a token has no place in an answer.
func (Token) MarshalJSON() ([]byte, error) {
	return nil, errors.New("a session token is not printed")
}

// Book is all contexts of a user.
type Book struct {
	Version int `yaml:"version"`
	// Current is the name of the one that commands talk to.
	Current  string    `yaml:"current,omitempty"`
	Contexts []Context `yaml:"contexts"`
}

// Get returns the context with a name.
func (b *Book) Get(name string) (Context, bool) {
	i := slices.IndexFunc(b.Contexts, func(c Context) bool { return c.Name == name })
	if i < 0 {
		return Context{}, false
	}
	return b.Contexts[i], true
}

// Put adds c, or replaces the one with its name, in the order of names.
func (b *Book) Put(c Context) {
	b.Remove(c.Name)
	b.Contexts = append(b.Contexts, c)
	slices.SortFunc(b.Contexts, func(x, y Context) int { return cmp.Compare(x.Name, y.Name) })
}

// Remove deletes the context with a name and reports whether there was one.
func (b *Book) Remove(name string) bool {
	n := len(b.Contexts)
	b.Contexts = slices.DeleteFunc(b.Contexts, func(c Context) bool { return c.Name == name })
	return len(b.Contexts) < n
}

// File is where the contexts of a user stand.
type File struct {
	Path string
}

// Default returns the user's own file.
func Default(getenv func(string) string) (File, error) {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // a relative one is to be ignored, says the XDG specification
		home := getenv("HOME")
		if home == "" {
			return File{}, errors.New("find the contexts file: neither XDG_CONFIG_HOME nor HOME is set")
		}
		dir = filepath.Join(home, ".config")
	}
	return File{filepath.Join(dir, "det-deploy", "contexts.yaml")}, nil
}

// Load reads the file. One that is not there holds no contexts.
func (f File) Load() (*Book, error) {
	raw, err := os.ReadFile(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return &Book{Version: Version}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the contexts: %w", err)
	}
	b := &Book{}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(b); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the contexts in %s: %w", f.Path, err)
	}
	if b.Version == 0 && len(b.Contexts) == 0 {
		b.Version = Version
	}
	if b.Version != Version {
		return nil, fmt.Errorf("read the contexts in %s: version %d was written by another det-deploy, this one reads version %d", f.Path, b.Version, Version)
	}
	return b, nil
}
