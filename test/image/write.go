package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/det-deploy/det-deploy/internal/atomicfile"
)

// Spec is the content of an image and its default command.
type Spec struct {
	Tag, Architecture string
	// Files are SRC:DST; Layers are tar archives below them.
	Files, Layers   []string
	Env             []string
	Entrypoint, Cmd []string
	Ports           []string
	User, WorkDir   string
	// Labels are NAME=VALUE.
	Labels []string
	// Roots adds the root certificates of public servers.
	Roots bool
}

// rootsFile is the file in which Go, OpenSSL and most other programs look for them.
const rootsFile = "etc/ssl/certs/ca-certificates.crt"

// defaultPath is the PATH of containers whose image sets none.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Write writes the image to out atomically.
func Write(s Spec, out string) error {
	if s.Tag == "" || out == "" {
		return errors.New("--tag and --out are needed")
	}
	tag, err := name.NewTag(s.Tag)
	if err != nil {
		return fmt.Errorf("--tag: %w", err)
	}
	image, err := build(s)
	if err != nil {
		return err
	}
	return atomicfile.Replace(out, 0o644, func(w io.Writer) error { return tarball.Write(tag, image, w) })
}

func build(s Spec) (v1.Image, error) {
	var layers []v1.Layer
	for _, file := range s.Layers {
		l, err := tarball.LayerFromFile(file)
		if err != nil {
			return nil, fmt.Errorf("--tar %s: %w", file, err)
		}
		layers = append(layers, l)
	}
	if len(s.Files) > 0 || s.Roots {
		data := make(map[string][]byte)
		if s.Roots {
			data[rootsFile] = roots()
		}
		b, err := layer(s.Files, data)
		if err != nil {
			return nil, err
		}
		l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil })
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	image, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", s.Architecture
	// The same files yield the same image at any time.
	config.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	config.Config = s.config()
	for _, l := range s.Labels {
		key, value, ok := strings.Cut(l, "=")
		if !ok {
			return nil, fmt.Errorf("--label: must be NAME=VALUE (is %q)", l)
		}
		config.Config.Labels[key] = value
	}
	return mutate.ConfigFile(image, config)
}

func (s Spec) config() v1.Config {
	c := v1.Config{Env: s.Env, Entrypoint: s.Entrypoint, Cmd: s.Cmd, User: s.User, WorkingDir: s.WorkDir, Labels: make(map[string]string)}
	if !slices.ContainsFunc(s.Env, func(e string) bool { return strings.HasPrefix(e, "PATH=") }) {
		c.Env = append([]string{defaultPath}, s.Env...)
	}
	for _, p := range s.Ports {
		if c.ExposedPorts == nil {
			c.ExposedPorts = make(map[string]struct{})
		}
		c.ExposedPorts[p] = struct{}{}
	}
	return c
}
