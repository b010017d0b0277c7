package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
)

// wantedManifest returns the requested manifest and the content of its files. Ready is false while
// a resource to which they refer does not exist.
func (f *configuration) wantedManifest(ctx context.Context, have manifest.Manifest) (m manifest.Manifest, content map[string][]byte, ready bool, err error) {
	l, ready, err := f.live()
	if err != nil || !ready {
		return m, nil, false, err
	}
	if content, ready, err = f.masterFiles(ctx, l); err != nil || !ready {
		return m, nil, ready, err
	}
	m = manifest.Manifest{
		Schema: manifest.Schema, Cluster: f.c.Common.Cluster, Generation: have.Generation, Version: f.c.Version,
		Phase: manifest.Serve, Files: map[string]manifest.File{}, Binaries: maps.Clone(have.Binaries),
		Health: manifest.Health{URL: fmt.Sprintf("https://127.0.0.1:%d/health", MasterPort), CA: caFile, Name: f.c.certName()},
		Logs:   f.c.Logs, Metrics: f.c.Metrics, Fallback: true,
	}
	if have.Version != "" {
		m.Version = have.Version
	}
	if m.Binaries == nil {
		m.Binaries = map[string]manifest.File{}
	}
	archs, err := f.c.Machines.Architectures()
	if err != nil {
		return m, nil, false, err
	}
	for _, arch := range archs {
		if p, ok := f.c.Programs[arch]; ok && m.Binaries[arch].SHA256 == "" {
			m.Binaries[arch] = manifest.File{Key: manifest.BinaryKey(p.SHA256), SHA256: p.SHA256, Mode: 0o755}
		}
	}
	for name, data := range content {
		m.Files[name] = storedFile(data)
	}
	if err := f.addWheel(have, &m, content); err != nil {
		return m, nil, false, err
	}
	return m, content, true, nil
}

// masterFiles returns the files on the master's machine. None of them is secret.
func (f *configuration) masterFiles(ctx context.Context, l Live) (map[string][]byte, bool, error) {
	config, err := f.c.masterYAML(l)
	if err != nil {
		return nil, false, err
	}
	out := map[string][]byte{manifest.ConfigFile: config}
	if text := f.c.Common.Proxy.Environment(); text != "" {
		out[manifest.ProxyFile] = []byte(text)
	}
	versions, authority, err := f.readSigned(ctx)
	if err != nil || versions == nil {
		return nil, false, err
	}
	if out[secretsFile], err = json.Marshal(versions); err != nil {
		return nil, false, err
	}
	if f.leaf == nil {
		out[certFile] = []byte(f.c.Common.TLS.Certificate)
		out[caFile] = f.c.Common.TLS.Authority()
		return out, true, nil
	}
	out[caFile] = authority
	return out, authority != nil, nil
}

// readSigned concurrently reads the versions of the secrets and, if the cluster has its own CA, the
// CA's certificate. Missing values are nil.
func (f *configuration) readSigned(ctx context.Context) (versions map[string]string, authority []byte, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		versions, err = f.secretVersions(ctx)
		return err
	})
	if f.leaf != nil {
		g.Go(func() (err error) {
			authority, err = f.leaf.authorityPEM(ctx)
			if cloud.KindOf(err) == cloud.NotFound {
				return nil
			}
			return err
		})
	}
	return versions, authority, g.Wait()
}

// secretVersions returns the current versions of the secrets, or nil if one of them has no value.
func (f *configuration) secretVersions(ctx context.Context) (map[string]string, error) {
	all := make([]string, len(f.secrets))
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range f.secrets {
		g.Go(func() (err error) {
			all[i], err = s.currentVersion(ctx)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(all))
	for i, version := range all {
		if version == "" {
			return nil, nil //nolint:nilnil // nil means none
		}
		out[f.secrets[i].name] = version
	}
	return out, nil
}
