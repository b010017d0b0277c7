// Package contexts stores the masters known to a user: the address, the trusted certificate and the
// session of each. The file $XDG_CONFIG_HOME/det-deploy/contexts.yaml is readable only by the user.
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

// Version is the version of the file format. A file of another version causes an error.
const Version = 1

// Context is a master with the user's session.
type Context struct {
	// Name is the user's name for it.
	Name string `yaml:"name" json:"name"`
	// Master is the master's base URL.
	Master string `yaml:"master" json:"master"`
	// Cluster is the cluster ID reported by the master.
	Cluster string `yaml:"cluster,omitempty" json:"cluster"`
	// Platform is the platform of the cluster, such as "aws" or "local", and Region its region. They are
	// set for clusters installed by this user.
	Platform string `yaml:"platform,omitempty" json:"platform,omitempty"`
	Region   string `yaml:"region,omitempty" json:"region,omitempty"`
	// Project is the cluster's Google project.
	Project string `yaml:"project,omitempty" json:"project,omitempty"`
	// KubeContext and Namespace locate a cluster on Kubernetes.
	KubeContext string `yaml:"kube_context,omitempty" json:"kube_context,omitempty"`
	Namespace   string `yaml:"namespace,omitempty" json:"namespace,omitempty"`
	// CA is a PEM bundle of authorities that verify the master's certificate.
	CA string `yaml:"ca,omitempty" json:"-"`
	// ServerName is the name in the certificate if it differs from the host of Master.
	ServerName string `yaml:"server_name,omitempty" json:"server_name,omitempty"`
	// Fingerprint is the SHA-256 of the certificate that the user accepted.
	Fingerprint string `yaml:"fingerprint,omitempty" json:"fingerprint,omitempty"`
	// User and Token are the session; both are empty after logout.
	User  string `yaml:"user,omitempty" json:"user"`
	Token Token  `yaml:"token,omitempty" json:"-"`
	// Before is the context that was current before this one became it, or empty.
	Before string `yaml:"before,omitempty" json:"-"`
}

// Token is a session token. It is redacted when printed; only the file contains it.
type Token string

// String returns a redacted text.
func (Token) String() string { return "‹redacted›" }

// GoString returns a redacted text.
func (Token) GoString() string { return "‹redacted›" }

// MarshalJSON returns an error because tokens must not be part of any output.
func (Token) MarshalJSON() ([]byte, error) {
	return nil, errors.New("session tokens cannot be printed")
}

// Book holds the contexts of a user.
type Book struct {
	Version int `yaml:"version"`
	// Current is the name of the current context.
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

// Put adds c or replaces the context with its name. Contexts are sorted by name.
func (b *Book) Put(c Context) {
	b.remove(c.Name)
	b.Contexts = append(b.Contexts, c)
	slices.SortFunc(b.Contexts, func(x, y Context) int { return cmp.Compare(x.Name, y.Name) })
}

func (b *Book) remove(name string) {
	b.Contexts = slices.DeleteFunc(b.Contexts, func(c Context) bool { return c.Name == name })
}

// File is the file with a user's contexts.
type File struct {
	Path string
}

// Default returns the file of the current user.
func Default(getenv func(string) string) (File, error) {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification requires ignoring a relative path
		home := getenv("HOME")
		if home == "" {
			return File{}, errors.New("cannot find the contexts file: neither XDG_CONFIG_HOME nor HOME is set")
		}
		dir = filepath.Join(home, ".config")
	}
	return File{filepath.Join(dir, "det-deploy", "contexts.yaml")}, nil
}

// Load reads the file. A missing file contains no contexts.
func (f File) Load() (*Book, error) {
	raw, err := os.ReadFile(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return &Book{Version: Version}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the contexts: %w", err)
	}
	b := &Book{}
	dec := yaml.NewDecoder(bytes.NewReader(raw))
	dec.KnownFields(true)
	if err := dec.Decode(b); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read the contexts in %s: %w", f.Path, err)
	}
	if b.Version == 0 && len(b.Contexts) == 0 {
		b.Version = Version
	}
	if b.Version != Version {
		return nil, fmt.Errorf("cannot read the contexts in %s: version %d was written by another version of det-deploy; this one reads version %d", f.Path, b.Version, Version)
	}
	return b, nil
}
