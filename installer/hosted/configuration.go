package hosted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/hosted/manifests"
)

// secretsFile lists the version of each secret that the master uses. Its machine restarts the
// master when a version changes.
const secretsFile = "/etc/determined/secrets.json"

// settingsKey holds a copy of the cluster's settings in the control bucket, from which a lost
// record is restored.
const settingsKey = "settings.json"

// configuration is the manifest of the master's machine and the files that it names.
type configuration struct {
	c        *Cluster
	manifest *manifests.Cache
	// needs lists the resources to which the files refer.
	needs []string
	// live returns the names assigned by the cloud; complete is false while one of them is unknown.
	live func() (l Live, complete bool, err error)
	// planned returns the pools, with stand-ins for names that are not assigned yet. It may be nil.
	planned func() (Live, error)
	// secrets are those that the master reads.
	secrets []*watched
	// leaf is the master's certificate; it is nil if the user provides one.
	leaf *leaf
	// settings are the recorded settings of the cluster.
	settings map[string]string
}

var _ resource.Updater = (*configuration)(nil)

func (f *configuration) ID() string { return f.c.resourceID(KindManifest, "master") }

func (*configuration) Kind() string { return KindManifest }

// Needs returns the resources to which the files refer.
func (f *configuration) Needs() []string { return f.needs }

// Find compares the stored manifest with the requested one. A manifest that stops the master counts
// as missing, because `down` leaves one behind.
func (f *configuration) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	m, err := f.manifest.Get(ctx)
	if err != nil || m.Schema == "" || m.Phase == manifest.Stop {
		return resource.Found{}, nil, err
	}
	found := resource.Found{Kind: KindManifest, ID: manifest.Key, Name: "master"}
	if f.live == nil {
		return found, nil, nil
	}
	want, content, ready, err := f.wantedManifest(ctx, m)
	if err != nil {
		return resource.Found{}, nil, err
	}
	if !ready {
		return found, []resource.Drift{{Path: "files", Have: "refer to missing resources", Want: "complete"}}, nil
	}
	drift := describeFiles(manifests.Compare(m, want), f.masterYAMLDrift(ctx, m, content[manifest.ConfigFile]))
	stored, err := f.storedSettings(ctx)
	if err != nil {
		return found, nil, err
	}
	return found, append(drift, compareRecorded(stored, f.settings)...), nil
}

// storedSettings returns the settings in the bucket, or none if it has none that can be read.
func (f *configuration) storedSettings(ctx context.Context) (have map[string]string, err error) {
	o, err := f.c.Objects.Get(ctx, settingsKey)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(o.Data, &have) != nil {
		return nil, nil //nolint:nilerr // they are written anew
	}
	return have, nil
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
		return fmt.Errorf("cannot write %s: a resource to which it refers does not exist", f.ID())
	}
	if m.Generation > 0 && have.Phase == m.Phase && len(manifests.Compare(have, m)) == 0 {
		return f.storeSettings(ctx) // the machine does not use the settings, so the order does not matter
	}
	if err := f.writeFiles(ctx, m, content); err != nil {
		return err
	}
	return f.c.Manifests.Write(ctx, m, status)
}

// writeFiles writes the settings and the files of the manifest, concurrently.
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

// Update is Create: writing the manifest switches to the new files at once.
func (f *configuration) Update(ctx context.Context, _ []resource.Drift) error { return f.Create(ctx) }

// Delete keeps the manifest. It is replaced after the resources it refers to, and the machine uses
// the old one until then.
func (*configuration) Delete(context.Context) error { return nil }

// Configuration holds the resources that the master's machine runs.
type Configuration struct {
	// Programs are the det-deploy programs by architecture. Rest are the secrets, certificates and
	// the manifest.
	Programs, Rest []resource.Resource
	// MasterSecrets are the names of the cluster's secrets that the master reads.
	MasterSecrets []string

	manifest *manifests.Cache
}

// With returns all resources, with the master's address before the certificate that is signed for
// it.
func (p Configuration) With(address Address) []resource.Resource {
	return slices.Concat(p.Programs, []resource.Resource{address}, p.Rest)
}

// ProgramIDs returns the IDs of the programs.
func (p Configuration) ProgramIDs() []string {
	ids := make([]string, len(p.Programs))
	for i, r := range p.Programs {
		ids[i] = r.ID()
	}
	return ids
}

// Drawn holds the inputs of a configuration.
type Drawn struct {
	// Settings are the recorded settings of the cluster.
	Settings map[string]string
	// Address is the resource of the master's address.
	Address Address
	// Needs lists the IDs of the resources whose names Live returns. Live is incomplete while one
	// of them does not exist.
	Needs []string
	Live  func() (l Live, complete bool, err error)
	// Planned returns the same with stand-ins for unknown names, for the plan. It may be nil.
	Planned func() (Live, error)
}

// Configure returns the configuration of the master's machine.
func (c *Cluster) Configure(d Drawn) (Configuration, error) {
	p := Configuration{manifest: &manifests.Cache{From: c.Manifests}}
	archs, err := c.Machines.Architectures()
	if err != nil {
		return Configuration{}, err
	}
	for _, arch := range archs {
		p.Programs = append(p.Programs, &storedProgram{c: c, arch: arch, manifest: p.manifest})
	}
	f := &configuration{c: c, manifest: p.manifest, needs: slices.Concat(p.ProgramIDs(), d.Needs), settings: d.Settings, live: d.Live, planned: d.Planned}
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

// ProgramSums returns the hashes of the programs that the cluster runs or will run, by
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
