package aws

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// secretsFile lists which version of each secret the master goes by: another one
// makes its machine start it again.
const secretsFile = "/etc/determined/secrets.json"

// settingsKey keeps the cluster's settings in the control bucket, beside the
// record: a record that is lost is made anew from it.
const settingsKey = "settings.json"

// configuration is the manifest with the files it names: what the master's
// machine is to run.
type configuration struct {
	t    *Target
	lore *lore
	// needs is everything that the files mention.
	needs []string
	// live tells what Amazon calls things; complete is false while one of them is
	// not there.
	live func() (l live, complete bool)
	// secrets are those that the master reads.
	secrets []*watched
	// leaf signs for the master; nil with a certificate of the user's own.
	leaf *leaf
	// settings are those of the whole cluster, as they are remembered.
	settings map[string]string
}

var _ resource.Updater = (*configuration)(nil)

// ID is "aws/manifest/master".
func (*configuration) ID() string { return "aws/" + kindManifest + "/master" }

// Kind is kindManifest.
func (*configuration) Kind() string { return kindManifest }

// Needs everything that it mentions.
func (c *configuration) Needs() []string { return c.needs }

// Find compares what the machine is told to run with what it should be told. A
// manifest that says to stop is none: it is what `down` leaves behind.
func (c *configuration) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	m, err := c.lore.manifest(ctx)
	if err != nil || m.Schema == "" || m.Phase == manifest.Stop {
		return resource.Found{}, nil, err
	}
	found := resource.Found{Kind: kindManifest, ID: manifest.Key, Name: "master"}
	if c.live == nil {
		return found, nil, nil
	}
	want, _, ready, err := c.want(ctx, m)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if !ready {
		return found, []resource.Drift{{Path: "files", Have: "mention what is not there", Want: "as wanted"}}, nil
	}
	drift := compare(m, want)
	same, err := c.remembered(ctx)
	if err == nil && !same {
		drift = append(drift, resource.Drift{Path: "settings", Have: "others", Want: "those of this run"})
	}
	return found, drift, err
}

// remembered reports whether the bucket has the settings as they are.
func (c *configuration) remembered(ctx context.Context) (bool, error) {
	o, err := c.t.store.Get(ctx, settingsKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var have map[string]string
	return json.Unmarshal(o.Data, &have) == nil && maps.Equal(have, c.settings), nil
}

// compare lists what differs, in words that show no content.
func compare(have, want manifest.Manifest) []resource.Drift {
	var out []resource.Drift
	add := func(path, a, b string) {
		if a != b {
			out = append(out, resource.Drift{Path: path, Have: a, Want: b})
		}
	}
	names := slices.Collect(maps.Keys(have.Files))
	names = slices.AppendSeq(names, maps.Keys(want.Files))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		add(name, orAbsent(short(have.Files[name].SHA256)), orAbsent(short(want.Files[name].SHA256)))
	}
	for _, arch := range slices.Sorted(maps.Keys(want.Binaries)) {
		add("program."+arch, orAbsent(short(have.Binaries[arch].SHA256)), short(want.Binaries[arch].SHA256))
	}
	add("phase", string(have.Phase), string(want.Phase))
	add("logs", orAbsent(have.Logs), orAbsent(want.Logs))
	add("metrics", fmt.Sprint(have.Metrics), fmt.Sprint(want.Metrics))
	add("health", fmt.Sprint(have.Health), fmt.Sprint(want.Health))
	return out
}

func orAbsent(s string) string {
	if s == "" {
		return "absent"
	}
	return s
}

// want is the manifest as it should be, with the content of its files. Ready is
// false while something that they mention is not there.
func (c *configuration) want(ctx context.Context, have manifest.Manifest) (m manifest.Manifest, content map[string][]byte, ready bool, err error) {
	l, ready := c.live()
	if !ready {
		return m, nil, false, nil
	}
	if content, ready, err = c.files(ctx, l); err != nil || !ready {
		return m, nil, ready, err
	}
	m = manifest.Manifest{
		Schema: manifest.Schema, Cluster: c.t.Spec.Cluster, Generation: have.Generation, Version: c.t.Version,
		Phase: manifest.Serve, Files: map[string]manifest.File{}, Binaries: maps.Clone(have.Binaries),
		Health: manifest.Health{URL: fmt.Sprintf("https://127.0.0.1:%d/health", masterPort), CA: caFile, Name: c.t.certName()},
		Logs:   c.t.logGroup(), Metrics: c.t.Spec.Metrics, Fallback: true,
	}
	if have.Version != "" {
		m.Version = have.Version
	}
	if m.Binaries == nil {
		m.Binaries = map[string]manifest.File{}
	}
	archs, err := c.t.architectures()
	if err != nil {
		return m, nil, false, err
	}
	for _, arch := range archs {
		if p, ok := c.t.Programs[arch]; ok && m.Binaries[arch].SHA256 == "" {
			m.Binaries[arch] = manifest.File{Key: manifest.BinaryKey(p.SHA256), SHA256: p.SHA256, Mode: 0o755}
		}
	}
	for name, data := range content {
		sum := sha256.Sum256(data)
		text := hex.EncodeToString(sum[:])
		m.Files[name] = manifest.File{Key: manifest.FileKey(text), SHA256: text, Mode: 0o644}
	}
	return m, content, true, nil
}

// files is what stands on the master's machine. None of it is secret.
func (c *configuration) files(ctx context.Context, l live) (map[string][]byte, bool, error) {
	config, err := c.t.masterYAML(l)
	if err != nil {
		return nil, false, err
	}
	out := map[string][]byte{manifest.ConfigFile: config}
	versions, authority, err := c.signed(ctx)
	if err != nil || versions == nil {
		return nil, false, err
	}
	if out[secretsFile], err = json.Marshal(versions); err != nil {
		return nil, false, err
	}
	if c.leaf == nil {
		out[certFile] = []byte(c.t.Spec.TLS.Certificate)
		out[caFile] = c.t.ownCA()
		return out, true, nil
	}
	out[caFile] = authority
	return out, authority != nil, nil
}

// signed asks side by side for the versions of the secrets and, where the cluster
// signs for its master by itself, for the certificate that does. What is not there is
// nil.
func (c *configuration) signed(ctx context.Context) (versions map[string]string, authority []byte, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		versions, err = c.versions(ctx)
		return err
	})
	if c.leaf != nil {
		g.Go(func() (err error) {
			authority, err = c.leaf.authority(ctx)
			if cloud.KindOf(err) == cloud.NotFound {
				return nil
			}
			return err
		})
	}
	return versions, authority, g.Wait()
}

// versions is what Amazon calls the value of each secret, or nil while one has
// none.
func (c *configuration) versions(ctx context.Context) (map[string]string, error) {
	all := make([]string, len(c.secrets))
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range c.secrets {
		g.Go(func() (err error) {
			all[i], err = s.version(ctx)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	out := make(map[string]string, len(all))
	for i, version := range all {
		if version == "" {
			return nil, nil //nolint:nilnil // none is an answer
		}
		out[c.secrets[i].Name] = version
	}
	return out, nil
}

// Create writes the files and then the manifest that names them.
func (c *configuration) Create(ctx context.Context) error {
	have, status, err := c.t.told(ctx)
	if err != nil {
		return err
	}
	m, content, ready, err := c.want(ctx, have)
	if err != nil {
		return err
	}
	if !ready {
		return fmt.Errorf("write %s: something that it mentions is not there", c.ID())
	}
	if m.Generation > 0 && have.Phase == m.Phase && len(compare(have, m)) == 0 {
		return c.remember(ctx) // a machine has nothing to do with settings
	}
	if err := c.write(ctx, m, content); err != nil {
		return err
	}
	return c.t.writeManifest(ctx, m, status)
}

// write puts the settings beside the files where the manifest will look for them, all
// at once.
func (c *configuration) write(ctx context.Context, m manifest.Manifest, content map[string][]byte) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return c.remember(ctx) })
	for name, data := range content {
		g.Go(func() error {
			if err := c.t.put(ctx, m.Files[name].Key, data); err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (c *configuration) remember(ctx context.Context) error {
	data, err := json.Marshal(c.settings)
	if err != nil {
		return fmt.Errorf("write the cluster's settings: %w", err)
	}
	return c.t.put(ctx, settingsKey, data)
}

// Update is Create: the manifest moves at once to the new files.
func (c *configuration) Update(ctx context.Context, _ []resource.Drift) error { return c.Create(ctx) }

// Delete leaves it in place: it is replaced when something that it mentions is,
// and the machine goes by the old one until then.
func (*configuration) Delete(context.Context) error { return nil }

// writeManifest writes m as the generation after the last that its machine has seen.
func (t *Target) writeManifest(ctx context.Context, m manifest.Manifest, status manifest.Status) error {
	m.Generation = max(m.Generation, status.Generation) + 1
	data, err := m.Encode()
	if err != nil {
		return err
	}
	return t.put(ctx, manifest.Key, data)
}

// put writes one object of the control bucket, if the gate lets it.
func (t *Target) put(ctx context.Context, key string, data []byte) error {
	_, err := t.Clients.S3.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &t.store.Name, Key: aws.String(key), Body: bytes.NewReader(data), ExpectedBucketOwner: &t.store.Account,
	})
	return err
}

// erase removes one object of the control bucket, if the gate lets it.
func (t *Target) erase(ctx context.Context, key string) error {
	_, err := t.Clients.S3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &t.store.Name, Key: &key, ExpectedBucketOwner: &t.store.Account})
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}
