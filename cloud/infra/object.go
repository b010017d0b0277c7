package infra

import (
	"context"
	"errors"
	"maps"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Definition describes a resource: how its objects are listed, their wanted attributes, and the
// calls specific to its kind. Object and NoncedObject implement the rest.
type Definition[T any] struct {
	Kind Kind[T]
	// ID is the resource ID: "aws/subnet/agents-a". Needs lists the IDs of resources that must
	// exist first.
	ID    string
	Needs []string
	// Needed lists references without which the object cannot be found: a subnet is looked up only
	// once its network is known.
	Needed []Ref
	// Owner is the mark of the cluster. Mark identifies the resource within it.
	Owner, Mark map[string]string
	// Tags are the wanted values of the mutable marks.
	Tags map[string]string
	// NonceTag is the key of the mark that holds the nonce of a NoncedObject.
	NonceTag string
	// Identity stores the platform's ID of the object.
	Identity *Learned
	// Found converts an object to the form of the inventory.
	Found func(kind string, o Observed) resource.Found

	// Create creates the object with its marks and learns its identity. Nonce is empty for an
	// Object, because its unique name makes the call idempotent.
	Create func(ctx context.Context, nonce string) error
	// Retag sets marks on the object.
	Retag func(ctx context.Context, identity string, marks map[string]string) error

	// Compare returns the drift of the object apart from its marks. It may store the values it
	// reads. Nil compares nothing.
	Compare func(ctx context.Context, live T) ([]resource.Drift, error)
	// Change corrects the drift found by Compare. Nil changes nothing.
	Change func(ctx context.Context, drift []resource.Drift) error
	// Describe returns the details of the object for a plan. Advise returns the advice for rejected
	// drift. Both may be nil.
	Describe func() []string
	Advise   func(drift []resource.Drift) string
	// Note returns how an object that is kept differs from the wanted one. Nil returns nothing.
	Note func() string
	// Adopts reports that an object without the mark of any cluster is the resource's, whose mark was lost.
	Adopts bool
}

// Defined is a resource with a definition.
type Defined[T any] interface{ Define() Definition[T] }

// Object is a resource whose object has a unique name: the platform rejects a second one, and an
// existing one belongs to the cluster if it carries its mark.
type Object[T any] struct{ defined Defined[T] }

// NoncedObject is a resource whose object has no unique name. It is created under a nonce.
type NoncedObject[T any] struct{ Object[T] }

// Named returns the resource of a definition whose object has a unique name.
func Named[T any](d Defined[T]) *Object[T] { return &Object[T]{d} }

// Nonced returns the resource of a definition whose object is created under a nonce.
func Nonced[T any](d Defined[T]) *NoncedObject[T] { return &NoncedObject[T]{Object[T]{d}} }

// ID implements resource.Resource.
func (o *Object[T]) ID() string { return o.defined.Define().ID }

// Kind implements resource.Resource.
func (o *Object[T]) Kind() string { return o.defined.Define().Kind.Name }

// Needs implements resource.Resource.
func (o *Object[T]) Needs() []string { return o.defined.Define().Needs }

// Identity returns the platform's ID of the object, or "" if it is not known yet.
func (o *Object[T]) Identity() string { return o.defined.Define().Identity.Identity() }

// Find finds the object with the resource's mark and returns its drift.
func (o *Object[T]) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	d := o.defined.Define()
	for _, r := range d.Needed {
		if r.Identity() == "" {
			return resource.Found{}, nil, nil
		}
	}
	all, err := d.Kind.All(ctx, joinMarks(d.Owner, d.Mark))
	if err == nil && len(all) == 0 && d.Adopts {
		all, err = d.Kind.allUnmarked(ctx, d.Owner)
	}
	if err != nil || len(all) == 0 {
		return resource.Found{}, nil, err
	}
	live := all[0]
	d.Identity.Learn(live.Identity)
	drift := MarkDrift(live.Marks, joinMarks(d.Owner, d.Tags))
	if d.Compare != nil {
		more, err := d.Compare(ctx, live.Object)
		if err != nil {
			return resource.Found{}, nil, err
		}
		drift = append(drift, more...)
	}
	return d.Found(d.Kind.Name, live.Observed), drift, nil
}

// Create creates the object. If an object of that name exists, it returns nil if that carries the
// cluster's mark, and a Conflict error otherwise.
func (o *Object[T]) Create(ctx context.Context) error {
	err := o.defined.Define().Create(ctx, "")
	if cloud.KindOf(err) != cloud.Conflict {
		return err
	}
	found, _, findErr := o.Find(ctx)
	if findErr == nil && found.Exists() {
		return nil
	}
	return err
}

// Update corrects marks and the attributes that the definition can change.
func (o *Object[T]) Update(ctx context.Context, drift []resource.Drift) error {
	d := o.defined.Define()
	marks := WantedMarks(drift)
	if len(marks) > 0 {
		if err := d.Retag(ctx, d.Identity.Identity(), marks); err != nil {
			return err
		}
	}
	if d.Change == nil || len(marks) == len(drift) {
		return nil
	}
	return d.Change(ctx, drift)
}

// Delete deletes the object.
func (o *Object[T]) Delete(ctx context.Context) error {
	d := o.defined.Define()
	return d.Kind.Delete(ctx, d.Identity.Identity())
}

// Describe returns the details of the object for a plan.
func (o *Object[T]) Describe() []string {
	if d := o.defined.Define(); d.Describe != nil {
		return d.Describe()
	}
	return nil
}

// Advise returns the advice for rejected drift.
func (o *Object[T]) Advise(drift []resource.Drift) string {
	if d := o.defined.Define(); d.Advise != nil {
		return d.Advise(drift)
	}
	return ""
}

// Note returns how the object differs from the wanted one although it is kept.
func (o *Object[T]) Note() string {
	if d := o.defined.Define(); d.Note != nil {
		return d.Note()
	}
	return ""
}

var errNeedsNonce = errors.New("requires a nonce")

// Create returns an error, because a second call would create a second object.
func (*NoncedObject[T]) Create(context.Context) error { return errNeedsNonce }

// CreateOnce creates the object under a nonce.
func (o *NoncedObject[T]) CreateOnce(ctx context.Context, nonce string) error {
	return o.defined.Define().Create(ctx, nonce)
}

// Made returns the objects that carry a nonce.
func (o *NoncedObject[T]) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	d := o.defined.Define()
	all, err := d.Kind.All(ctx, joinMarks(d.Owner, map[string]string{d.NonceTag: nonce}))
	out := make([]resource.Found, len(all))
	for i, live := range all {
		out[i] = d.Found(d.Kind.Name, live.Observed)
	}
	return out, err
}

// Ensure creates the object once, with its name as the nonce.
func (o *NoncedObject[T]) Ensure(ctx context.Context, name string) error {
	found, _, err := o.Find(ctx)
	if err != nil || found.Exists() {
		return err
	}
	err = o.CreateOnce(ctx, name)
	if cloud.KindOf(err) != cloud.Ambiguous {
		return err
	}
	made, lookErr := o.Made(ctx, name)
	if lookErr != nil {
		return lookErr
	}
	if len(made) == 0 {
		return err
	}
	_, _, err = o.Find(ctx)
	return err
}

func joinMarks(all ...map[string]string) map[string]string {
	out := make(map[string]string)
	for _, marks := range all {
		maps.Copy(out, marks)
	}
	return out
}
