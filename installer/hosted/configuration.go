package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
)

// secretsFile lists which version of each secret the master uses: a new version
// makes its machine restart it.
const secretsFile = "/etc/determined/secrets.json"

// settingsKey keeps the cluster's settings in the control bucket, beside the
// record: a lost record is rebuilt from it.
const settingsKey = "settings.json"

// configuration is the manifest with the files it names: what the master's
// machine is to run.
type configuration struct {
	c        *Cluster
	manifest *manifests.Cache
	// needs is everything that the files mention.
	needs []string
	// live tells what the cloud calls things; complete is false while one of them
	// is not there.
	live func() (l Live, complete bool, err error)
	// secrets are those that the master reads.
	secrets []*watched
	// leaf signs for the master; nil with a certificate of the user's own.
	leaf *leaf
	// settings are those of the whole cluster, as they are remembered.
	settings map[string]string
}

var _ resource.Updater = (*configuration)(nil)

// ID is "<cloud>/manifest/master".
func (f *configuration) ID() string { return f.c.resourceID(KindManifest, "master") }

// Kind is KindManifest.
func (*configuration) Kind() string { return KindManifest }

// Needs everything that it mentions.
func (f *configuration) Needs() []string { return f.needs }

// Find compares the stored manifest with the wanted one. A
// manifest that says to stop is none: it is what `down` leaves behind.
func (f *configuration) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	m, err := f.manifest.Get(ctx)
	if err != nil || m.Schema == "" || m.Phase == manifest.Stop {
		return resource.Found{}, nil, err
	}
	found := resource.Found{Kind: KindManifest, ID: manifest.Key, Name: "master"}
	if f.live == nil {
		return found, nil, nil
	}
	want, _, ready, err := f.wantedManifest(ctx, m)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if !ready {
		return found, []resource.Drift{{Path: "files", Have: "mention what is not there", Want: "as wanted"}}, nil
	}
	drift := manifests.Compare(m, want)
	same, err := f.settingsStored(ctx)
	if err == nil && !same {
		drift = append(drift, resource.Drift{Path: "settings", Have: "others", Want: "those of this run"})
	}
	return found, drift, err
}

// settingsStored reports whether the bucket has the current settings.
func (f *configuration) settingsStored(ctx context.Context) (bool, error) {
	o, err := f.c.Objects.Get(ctx, settingsKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var have map[string]string
	return json.Unmarshal(o.Data, &have) == nil && maps.Equal(have, f.settings), nil
}

// Create writes the files and then the manifest that names them.
func (f *configuration) Create(ctx context.Context) error {
	have, status, err := f.manifest.GetBoth(ctx)
	if err != nil {
		return err
	}
	m, content, ready, err := f.wantedManifest(ctx, have)
	if err != nil {
		return err
	}
	if !ready {
		return fmt.Errorf("write %s: something that it mentions is not there", f.ID())
	}
	if m.Generation > 0 && have.Phase == m.Phase && len(manifests.Compare(have, m)) == 0 {
		return f.storeSettings(ctx) // a machine has nothing to do with settings
	}
	if err := f.writeFiles(ctx, m, content); err != nil {
		return err
	}
	return f.c.Manifests.Write(ctx, m, status)
}

// writeFiles writes the settings and the files where the manifest refers to them,
// concurrently.
func (f *configuration) writeFiles(ctx context.Context, m manifest.Manifest, content map[string][]byte) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return f.storeSettings(ctx) })
	for name, data := range content {
		g.Go(func() error {
			if err := f.c.Manifests.Put(ctx, m.Files[name].Key, data); err != nil {
				return fmt.Errorf("write %s: %w", name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (f *configuration) storeSettings(ctx context.Context) error {
	data, err := json.Marshal(f.settings)
	if err != nil {
		return fmt.Errorf("write the cluster's settings: %w", err)
	}
	return f.c.Manifests.Put(ctx, settingsKey, data)
}

// Update is Create: the manifest moves at once to the new files.
func (f *configuration) Update(ctx context.Context, _ []resource.Drift) error { return f.Create(ctx) }

// Delete leaves it in place: it is replaced when something that it mentions is,
// and the machine uses the old one until then.
func (*configuration) Delete(context.Context) error { return nil }

// Configuration is what the master's machine runs, as resources.
type Configuration struct {
	// Programs are det-deploy for each architecture, Rest is the secrets,
	// certificates and the manifest.
	Programs, Rest []resource.Resource
	// MasterSecrets are the names of the cluster's own secrets that the master reads.
	MasterSecrets []string

	manifest *manifests.Cache
}

// With lists all of it, with the master's address between the programs and what is signed
// for it.
func (p Configuration) With(address Address) []resource.Resource {
	return slices.Concat(p.Programs, []resource.Resource{address}, p.Rest)
}

// ProgramIDs are the IDs of the programs.
func (p Configuration) ProgramIDs() []string {
	ids := make([]string, len(p.Programs))
	for i, r := range p.Programs {
		ids[i] = r.ID()
	}
	return ids
}

// Drawn is what a configuration is drawn from.
type Drawn struct {
	// Settings are those of the whole cluster, as they are remembered.
	Settings map[string]string
	// Address is the master's, among the cluster's resources.
	Address Address
	// Needs is the IDs of what the cloud names and Live tells. Live is incomplete
	// while one of them does not exist.
	Needs []string
	Live  func() (l Live, complete bool, err error)
}

// Configure draws what the master's machine runs.
func (c *Cluster) Configure(d Drawn) (Configuration, error) {
	p := Configuration{manifest: &manifests.Cache{From: c.Manifests}}
	archs, err := c.Machines.Architectures()
	if err != nil {
		return Configuration{}, err
	}
	for _, arch := range archs {
		p.Programs = append(p.Programs, &storedProgram{c: c, arch: arch, manifest: p.manifest})
	}
	f := &configuration{c: c, manifest: p.manifest, needs: slices.Concat(p.ProgramIDs(), d.Needs), settings: d.Settings, live: d.Live}
	for _, s := range c.ownSecrets() {
		f.secrets = append(f.secrets, s)
		p.Rest = append(p.Rest, s)
	}
	if !c.Common.TLS.Own() {
		ca := c.authoritySecret()
		kept := c.watchSecret(Secret{Name: tlsSecret, Generate: errNoLeaf})
		f.leaf = &leaf{watched: kept, c: c, ca: ca, address: d.Address}
		f.secrets = append(f.secrets, kept)
		p.Rest = append(p.Rest, ca, f.leaf)
		f.needs = append(f.needs, f.leaf.ID(), ca.ID())
	}
	for _, s := range f.secrets {
		f.needs = append(f.needs, s.ID())
		p.MasterSecrets = append(p.MasterSecrets, s.name)
	}
	slices.Sort(f.needs)
	f.needs = slices.Compact(f.needs)
	p.Rest = append(p.Rest, f)
	return p, nil
}

// ProgramSums is the hashes of the programs that the cluster runs, or is to run, by
// architecture.
func (c *Cluster) ProgramSums(ctx context.Context, p Configuration) (map[string]string, error) {
	sums := make(map[string]string, len(p.Programs))
	archs, err := c.Machines.Architectures()
	if err != nil {
		return nil, err
	}
	for _, arch := range archs {
		if sums[arch], err = (&storedProgram{c: c, arch: arch, manifest: p.manifest}).wantedSum(ctx); err != nil {
			return nil, err
		}
	}
	return sums, nil
}
