// Package cloudtest is an in-memory cloud for testing the engine: it has the characteristics of
// real ones (names, tags, idempotency tokens, dependency violations, lists that lag) and can inject
// a fault into any call.
package cloudtest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

// Object is an object in the world.
type Object struct {
	ID, Kind, Name string
	Tags, Attrs    map[string]string
	// Refs are the IDs of objects that cannot be deleted before this one.
	Refs []string
	// Token is the idempotency token of its creation.
	Token string

	made, deleted time.Time
}

// World is an account. Create a new one for each test.
type World struct {
	// Lag is the delay of lists after a change.
	Lag time.Duration

	mu       sync.Mutex // guards the fields below
	objects  []*Object
	serial   int
	schedule faults.Schedule
}

// Create creates an object. Its name, if any, is unique within its kind. The same token returns the
// same object.
func (w *World) Create(_ context.Context, in Object) (id string, err error) {
	err = w.Act("create "+in.Kind, func() error {
		if old := w.sameToken(in); old != nil {
			id = old.ID
			return nil
		}
		if err := w.admissible(in); err != nil {
			return err
		}
		w.serial++
		in.ID = in.Kind + "-" + strconv.Itoa(w.serial)
		in.made = time.Now()
		in.Tags, in.Attrs = maps.Clone(in.Tags), maps.Clone(in.Attrs)
		w.objects = append(w.objects, &in)
		id = in.ID
		return nil
	})
	if err != nil {
		return "", err
	}
	return id, nil
}

func (w *World) sameToken(in Object) *Object {
	for _, o := range w.objects {
		if in.Token != "" && o.Kind == in.Kind && o.Token == in.Token {
			return o // even if it was deleted, like EC2
		}
	}
	return nil
}

func (w *World) admissible(in Object) error {
	for _, o := range w.objects {
		if in.Name != "" && o.Kind == in.Kind && o.Name == in.Name && o.deleted.IsZero() {
			return refuse(cloud.Conflict, "create "+in.Kind, in.Name+" exists")
		}
	}
	for _, ref := range in.Refs {
		if w.live(ref) == nil {
			return refuse(cloud.NotFound, "create "+in.Kind, ref+" does not exist")
		}
	}
	return nil
}

// Set changes one attribute.
func (w *World) Set(_ context.Context, id, attr, value string) error {
	return w.Act("set "+attr, func() error {
		o := w.live(id)
		if o == nil {
			return refuse(cloud.NotFound, "set "+attr, id)
		}
		o.Attrs[attr] = value
		return nil
	})
}

// Delete deletes an object. It returns an error if others refer to it.
func (w *World) Delete(_ context.Context, id string) error {
	return w.Act("delete "+id, func() error {
		o := w.live(id)
		if o == nil {
			return refuse(cloud.NotFound, "delete", id)
		}
		for _, user := range w.objects {
			if user.deleted.IsZero() && slices.Contains(user.Refs, id) {
				return refuse(cloud.Conflict, "delete", id+" is in use by "+user.ID)
			}
		}
		o.deleted = time.Now()
		return nil
	})
}

// List returns the live objects with a tag, of a kind unless that is empty, as of Lag ago: new
// objects are missing. If stale is true, deleted objects are included.
func (w *World) List(_ context.Context, kind, tag, value string, stale bool) ([]Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.schedule.Dead {
		return nil, faults.ErrKilled
	}
	then := time.Now().Add(-w.Lag)
	var out []Object
	for _, o := range w.objects {
		shown := o.deleted.IsZero() || stale && o.deleted.After(then)
		if shown && !o.made.After(then) && (kind == "" || o.Kind == kind) && o.Tags[tag] == value {
			out = append(out, *o)
		}
	}
	return out, nil
}

// Named returns the live object of a name, without lag. Found is false if it does not exist.
func (w *World) Named(_ context.Context, kind, name string) (o Object, found bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.schedule.Dead {
		return Object{}, false, faults.ErrKilled
	}
	for _, o := range w.objects {
		if o.Kind == kind && o.Name == name && o.deleted.IsZero() {
			return *o, true, nil
		}
	}
	return Object{}, false, nil
}

// Live returns the existing objects as "kind/name", sorted, independent of API calls.
func (w *World) Live() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, o := range w.objects {
		if o.deleted.IsZero() {
			out = append(out, o.Kind+"/"+o.Name+o.Tags["name"])
		}
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

func (w *World) live(id string) *Object {
	for _, o := range w.objects {
		if o.ID == id && o.deleted.IsZero() {
			return o
		}
	}
	return nil
}

func refuse(kind cloud.Kind, op, why string) error {
	return &cloud.Error{Kind: kind, Op: op, Err: errors.New(why)}
}
