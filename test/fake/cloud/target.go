package cloudtest

import (
	"context"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// The tags of all objects.
const (
	clusterTag = "det-deploy-cluster"
	nameTag    = "name"
	nonceTag   = "det-deploy-nonce"
)

// Target is the view of one process on a world.
type Target struct {
	World   *World
	Gate    *resource.Gate
	Cluster string
	// Machines is the wanted number of machines.
	Machines int
	// Size is the wanted size of the bucket, which can be changed in place.
	Size string
	// Zone is the wanted zone of the network, which cannot be changed in place.
	Zone string
}

var _ resource.Target = (*Target)(nil)

// Inventory returns the objects with the cluster's tag, as seen by the world's lists.
func (t *Target) Inventory(ctx context.Context, cluster string) ([]resource.Found, error) {
	os, err := t.World.List(ctx, "", clusterTag, cluster, true)
	if err != nil {
		return nil, err
	}
	out := make([]resource.Found, len(os))
	for i, o := range os {
		out[i] = found(o)
	}
	return out, nil
}

// Kinds returns the kinds, dependencies first.
func (t *Target) Kinds() []string { return []string{"role", "bucket", "network", "subnet", "machine"} }

// Remove deletes an object by its ID.
func (t *Target) Remove(ctx context.Context, f resource.Found) error {
	if err := t.Gate.Pass(ctx, "delete "+f.ID); err != nil {
		return err
	}
	err := t.World.Delete(ctx, f.ID)
	if cloud.KindOf(err) == cloud.NotFound {
		return nil
	}
	return err
}

// Wanted returns a small cluster with one resource of each type.
func (t *Target) Wanted() ([]resource.Resource, error) {
	net := &joined{tagged{thing: thing{
		t: t, kind: "network", name: "main",
		attrs: map[string]string{"zone": t.Zone}, later: map[string]string{"joined": "yes"},
	}}}
	sub := &tagged{thing: thing{t: t, kind: "subnet", name: "a", needs: []*thing{&net.thing}}}
	role := &named{thing{t: t, kind: "role", name: t.Cluster + "-master"}}
	bucket := &sized{named{thing{t: t, kind: "bucket", name: t.Cluster + "-data", attrs: map[string]string{"size": t.Size}}}}
	out := []resource.Resource{net, sub, role, bucket}
	for i := range t.Machines {
		m := &tagged{thing: thing{t: t, kind: "machine", name: string(rune('a' + i)), needs: []*thing{&sub.thing, &role.thing}}, token: true}
		out = append(out, m)
	}
	return out, nil
}

// thing is the common part of all resources.
type thing struct {
	t          *Target
	kind, name string
	needs      []*thing
	attrs      map[string]string
	later      map[string]string // attributes set by a separate call
	id         string
}

func (r *thing) ID() string   { return "test/" + r.kind + "/" + r.name }
func (r *thing) Kind() string { return r.kind }

func (r *thing) Needs() []string {
	out := make([]string, len(r.needs))
	for i, n := range r.needs {
		out[i] = n.ID()
	}
	return out
}

func (r *thing) Delete(ctx context.Context) error {
	err := r.t.Remove(ctx, resource.Found{Kind: r.kind, ID: r.id})
	if err == nil {
		r.id = ""
	}
	return err
}

func (r *thing) learn(o Object) (resource.Found, []resource.Drift) {
	r.id = o.ID
	var drift []resource.Drift
	for _, attr := range []string{"size", "zone"} {
		if o.Attrs[attr] != r.attrs[attr] {
			drift = append(drift, resource.Drift{Path: attr, Have: o.Attrs[attr], Want: r.attrs[attr], Replace: attr == "zone"})
		}
	}
	for attr, want := range r.later {
		if o.Attrs[attr] != want {
			drift = append(drift, resource.Drift{Path: attr, Have: o.Attrs[attr], Want: want})
		}
	}
	return found(o), drift
}

func (r *thing) make(ctx context.Context, o Object) error {
	if err := r.t.Gate.Pass(ctx, "create "+r.kind); err != nil {
		return err
	}
	o.Kind = r.kind
	o.Attrs = r.attrs
	o.Tags[clusterTag] = r.t.Cluster
	for _, n := range r.needs {
		o.Refs = append(o.Refs, n.id)
	}
	id, err := r.t.World.Create(ctx, o)
	if err == nil {
		r.id = id
	}
	return err
}

func found(o Object) resource.Found {
	f := resource.Found{Kind: o.Kind, ID: o.ID, Name: o.Name + o.Tags[nameTag], Nonce: o.Tags[nonceTag], Launched: o.Tags["launched"] != ""}
	if o.Kind == "bucket" {
		f.Retain = "holds the checkpoints"
	}
	return f
}

// named is a resource with a unique name on the platform.
type named struct{ thing }

func (r *named) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	o, ok, err := r.t.World.Named(ctx, r.kind, r.name)
	if err != nil || !ok {
		return resource.Found{}, nil, err
	}
	f, drift := r.learn(o)
	return f, drift, nil
}

func (r *named) Create(ctx context.Context) error {
	err := r.make(ctx, Object{Name: r.name, Tags: map[string]string{}})
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	o, ok, findErr := r.t.World.Named(ctx, r.kind, r.name)
	if findErr == nil && ok && o.Tags[clusterTag] == r.t.Cluster {
		r.id = o.ID
		return nil // created concurrently, or by a call whose response was lost
	}
	return err
}

// sized is a resource that can be changed in place.
type sized struct{ named }

func (r *sized) Update(ctx context.Context, drift []resource.Drift) error {
	for _, d := range drift {
		if err := r.t.Gate.Pass(ctx, "set "+d.Path); err != nil {
			return err
		}
		if err := r.t.World.Set(ctx, r.id, d.Path, d.Want); err != nil {
			return err
		}
	}
	return nil
}

// tagged is a resource without a unique name: two calls create two objects unless the API has a
// token.
type tagged struct {
	thing
	token bool
}

var _ resource.Nonced = (*tagged)(nil)

func (r *tagged) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	os, err := r.t.World.List(ctx, r.kind, clusterTag, r.t.Cluster, false)
	if err != nil {
		return resource.Found{}, nil, err
	}
	for _, o := range os {
		if o.Tags[nameTag] == r.name {
			f, drift := r.learn(o)
			return f, drift, nil
		}
	}
	return resource.Found{}, nil, nil
}

func (r *tagged) Create(context.Context) error { panic("cloudtest: made without a nonce") }

func (r *tagged) CreateOnce(ctx context.Context, nonce string) error {
	o := Object{Tags: map[string]string{nameTag: r.name, nonceTag: nonce}}
	if r.token {
		o.Token = nonce
	}
	return r.make(ctx, o)
}

func (r *tagged) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	os, err := r.t.World.List(ctx, r.kind, nonceTag, nonce, false)
	if err != nil {
		return nil, err
	}
	out := make([]resource.Found, len(os))
	for i, o := range os {
		out[i] = found(o)
	}
	return out, nil
}

// joined is a resource that is created by one call and ready after another.
type joined struct{ tagged }

var _ resource.Updater = (*joined)(nil)

func (r *joined) CreateOnce(ctx context.Context, nonce string) error {
	if err := r.tagged.CreateOnce(ctx, nonce); err != nil {
		return err
	}
	return resource.Partial(r.Update(ctx, nil))
}

func (r *joined) Update(ctx context.Context, _ []resource.Drift) error {
	for attr, want := range r.later {
		if err := r.t.Gate.Pass(ctx, "set "+attr); err != nil {
			return err
		}
		if err := r.t.World.Set(ctx, r.id, attr, want); err != nil {
			return err
		}
	}
	return nil
}
