package local

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/target/local/supervise"
)

// generationOf returns a hash of everything that a running process has read: its arguments,
// configuration, certificate and program.
func (p *process) generationOf(ctx context.Context) (string, error) {
	var text bytes.Buffer
	text.WriteString(strings.Join(p.args, "\x00"))
	config, err := p.config(ctx)
	if err != nil {
		return "", err
	}
	text.Write(config)
	if p.certs != nil {
		cert, err := os.ReadFile(filepath.Join(p.certs.dir, p.certFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", wrapRefusal("read", p.certs.dir, err)
		}
		text.Write(cert)
	}
	text.WriteString(p.program) // the path contains the hash
	return digestOf(text.Bytes()), nil
}

// staleDrift returns how the process u differs from the requested one, if it was started for another
// generation. The settings that it has read are those of its file, which changes before it is restarted.
func (p *process) staleDrift(ctx context.Context, u supervise.Unit, generation string) ([]resource.Drift, error) {
	if u.Generation == generation {
		return nil, nil
	}
	want, err := p.config(ctx)
	if err != nil {
		return nil, err
	}
	have, err := os.ReadFile(p.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrapRefusal("read", p.file, err)
	}
	var out []resource.Drift
	if u.Name != "" && !slices.Equal(u.Args, p.args) {
		out = append(out, resource.Drift{Path: "arguments", Have: strings.Join(u.Args, " "), Want: strings.Join(p.args, " ")})
	}
	if u.Name != "" && u.Program != p.program {
		out = append(out, resource.Drift{Path: "program", Have: "another build", Want: "the cluster's"})
	}
	if have != nil {
		out = append(out, differences(p.compare(have, want))...)
	}
	if len(out) == 0 {
		out = []resource.Drift{{Path: "configuration", Have: "as when it started", Want: "as in its files"}}
	}
	out[0].Digest = u.Generation + " " + generation
	return out, nil
}
