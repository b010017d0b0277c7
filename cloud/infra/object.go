package infra

import (
	"context"
	"errors"
	"maps"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Definition is what a resource says of itself: where its objects are listed, what is
// wanted, and the calls that only its kind makes. Object and NoncedObject do the rest.
type Definition[T any] struct {
	Kind Kind[T]
	// ID is the resource's: "aws/subnet/agents-a". Needs lists those of others that
	// have to be there first.
	ID    string
	Needs []string
	// Needed are those without whose identity it is not looked for: a subnet is not
	// looked for before its network is known.
	Needed []Ref
	// Owner is the mark of the cluster, and Mark tells which of its resources it is.
	Owner, Mark map[string]string
	// Tags are the marks that may change in its life, as they are wanted.
	Tags map[string]string
	// NonceTag is the mark that holds the nonce, for a NoncedObject.
	NonceTag string
	// Identity holds what the platform calls the object.
	Identity *Learned
	// Found is how the inventory shows an object.
	Found func(kind string, o Observed) resource.Found

	// Create makes the object with its marks, and learns its identity. Nonce is empty
	// for an Object, whose name tells a second call from the first.
	Create func(ctx context.Context, nonce string) error
	// Retag puts marks onto the object.
	Retag func(ctx context.Context, identity string, marks map[string]string) error

	// Compare says what is not as wanted, beyond the marks; nil compares nothing. It may
	// note what it reads.
	Compare func(ctx context.Context, live T) ([]resource.Drift, error)
	// Change brings what Compare found to what is wanted; nil changes nothing.
	Change func(ctx context.Context, drift []resource.Drift) error
	// Describe is what a plan shows of what is made, and Advise what may be done about
	// what it refuses. Both may be nil.
	Describe func() []string
	Advise   func(drift []resource.Drift) string
}

// Defined is a resource that has a definition.
type Defined[T any] interface{ Define() Definition[T] }

// Object is a resource whose object has a name of its own: making it twice is refused
// by the platform, and the one that is there is ours when it carries our mark.
type Object[T any] struct{ defined Defined[T] }

// NoncedObject is a resource whose object has no name of its own: it is made under a
// nonce.
type NoncedObject[T any] struct{ Object[T] }

// Named has a definition be a resource by its name.
func Named[T any](d Defined[T]) *Object[T] { return &Object[T]{d} }

// Nonced has a definition be a resource by a nonce.
func Nonced[T any](d Defined[T]) *NoncedObject[T] { return &NoncedObject[T]{Object[T]{d}} }

// ID names the resource.
func (o *Object[T]) ID() string { return o.defined.Define().ID }

// Kind is the word of the inventory.
func (o *Object[T]) Kind() string { return o.defined.Define().Kind.Name }

// Needs lists what has to be there first.
func (o *Object[T]) Needs() []string { return o.defined.Define().Needs }

// Identity is what the platform calls it, or empty while that is not known.
func (o *Object[T]) Identity() string { return o.defined.Define().Identity.Identity() }

// Find looks for the object with the resource's mark, and compares it.
func (o *Object[T]) Find(ctx context.Context) (resource.Found, []resource.Drift, error) {
	d := o.defined.Define()
	for _, r := range d.Needed {
		if r.Identity() == "" {
			return resource.Found{}, nil, nil
		}
	}
	all, err := d.Kind.All(ctx, joinMarks(d.Owner, d.Mark))
	if err != nil || len(all) == 0 {
		return resource.Found{}, nil, err
	}
	live := all[0]
	d.Identity.Learn(live.Identity)
	drift := MarkDrift(live.Marks, d.Tags)
	if d.Compare != nil {
		more, err := d.Compare(ctx, live.Object)
		if err != nil {
			return resource.Found{}, nil, err
		}
		drift = append(drift, more...)
	}
	return d.Found(d.Kind.Name, live.Observed), drift, nil
}

// Create makes the object. One that is there already under its name is a success when
// it carries our mark, and a conflict otherwise.
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

// Update changes marks, and what the definition can change.
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

// Delete removes the object.
func (o *Object[T]) Delete(ctx context.Context) error {
	d := o.defined.Define()
	return d.Kind.Delete(ctx, d.Identity.Identity())
}

// Describe is what a plan shows of what is made.
func (o *Object[T]) Describe() []string {
	if d := o.defined.Define(); d.Describe != nil {
		return d.Describe()
	}
	return nil
}

// Advise says what to do about drift that is refused.
func (o *Object[T]) Advise(drift []resource.Drift) string {
	if d := o.defined.Define(); d.Advise != nil {
		return d.Advise(drift)
	}
	return ""
}

var errNeedsNonce = errors.New("requires a nonce")

// Create refuses: a second call would make a second one.
func (*NoncedObject[T]) Create(context.Context) error { return errNeedsNonce }

// CreateOnce makes the object under nonce.
func (o *NoncedObject[T]) CreateOnce(ctx context.Context, nonce string) error {
	return o.defined.Define().Create(ctx, nonce)
}

// Made lists the objects that carry nonce.
func (o *NoncedObject[T]) Made(ctx context.Context, nonce string) ([]resource.Found, error) {
	d := o.defined.Define()
	return d.Kind.Founds(ctx, joinMarks(d.Owner, map[string]string{d.NonceTag: nonce}), d.Found)
}

// Ensure makes the object, exactly once, where its name is its nonce.
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
