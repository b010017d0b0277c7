// Package control implements the control bucket of a cluster on Cloud Storage. It holds the record,
// the lease, and the programs and files of the machines.
package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"

	"google.golang.org/api/storage/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/gcp/api"
	"github.com/det-deploy/det-deploy/cloud/gcp/infra/mark"
	datastore "github.com/det-deploy/det-deploy/cloud/gcp/infra/storage"
	"github.com/det-deploy/det-deploy/cloud/infra"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Bucket is the control bucket of a cluster. Tasks have no access to it. It exists before the
// lease, so its clients do not ask the gate.
type Bucket struct {
	Clients api.Clients
	Name    string
	// Number is the number of the project that must own the bucket. Any project may take a free
	// bucket name, so the owner is checked before the first read or write.
	Number uint64
	// Labels are set when the bucket is created.
	Labels map[string]string
	// Waiter retries while a bucket is being deleted.
	Waiter infra.Waiter

	// owned is set once the project is known to own the bucket.
	owned *atomic.Bool
}

var _ record.Keeper = Bucket{}

// Name returns the name of a cluster's control bucket.
func Name(cluster string, project uint64) string {
	return "det-deploy-" + cluster + "-" + strconv.FormatUint(project, 10)
}

// ClusterOf returns the cluster with the control bucket of that name.
func ClusterOf(name string, project uint64) (string, bool) {
	rest, ok := strings.CutPrefix(name, "det-deploy-")
	id, mine := strings.CutSuffix(rest, "-"+strconv.FormatUint(project, 10))
	return id, ok && mine && id != "" && !strings.HasSuffix(id, "-data")
}

// Open returns the control bucket of a cluster, whether it exists or not.
func Open(c api.Clients, cluster string, project uint64) Bucket {
	return Bucket{
		Clients: c, Name: Name(cluster, project), Number: project,
		Labels: map[string]string{mark.ClusterLabel: cluster}, owned: new(atomic.Bool),
	}
}

// Make creates the bucket, private and without soft delete, in one call. It may be repeated.
func (b Bucket) Make(ctx context.Context) error {
	return b.Waiter.RetryOn(ctx, "bucket "+b.Name, infra.ToAppear, cloud.Conflict, func() error {
		err := api.Send(ctx, b.Clients.Storage.Buckets.Insert(b.Clients.Project, b.wanted()))
		if cloud.KindOf(err) != cloud.Conflict {
			b.owned.Store(err == nil)
			return err
		}
		lookErr := b.checkOwned(ctx)
		switch {
		case cloud.KindOf(lookErr) == cloud.NotFound:
			return err // a bucket of this name is being deleted
		case lookErr != nil:
			return lookErr
		}
		return b.addLabels(ctx)
	})
}

// addLabels adds the missing labels to an existing bucket.
func (b Bucket) addLabels(ctx context.Context) error {
	if len(b.Labels) < 2 { // it was created with the mark
		return nil
	}
	live, err := api.Do(ctx, b.Clients.Storage.Buckets.Get(b.Name))
	if err != nil || len(infra.MarkDrift(live.Labels, b.Labels)) == 0 {
		return err
	}
	return api.Send(ctx, b.Clients.Storage.Buckets.Patch(b.Name, &storage.Bucket{Labels: b.Labels})) // merged with the existing ones
}

func (b Bucket) wanted() *storage.Bucket {
	out := datastore.ClosedBucket()
	out.Name, out.Location, out.Labels = b.Name, b.Clients.Region, b.Labels
	return out
}

// checkOwned returns an error if the bucket belongs to another project.
func (b Bucket) checkOwned(ctx context.Context) error {
	if b.owned.Load() {
		return nil
	}
	live, err := api.Do(ctx, b.Clients.Storage.Buckets.Get(b.Name))
	switch {
	case cloud.KindOf(err) == cloud.Denied:
		_, err = datastore.ExplainDenied(ctx, b.Clients, b.Name, err)
		return err
	case err != nil:
		return err
	case live.ProjectNumber != b.Number:
		return datastore.Taken(b.Name, fmt.Errorf("it belongs to project %d", live.ProjectNumber))
	}
	b.owned.Store(true)
	return nil
}

// Get reads an object.
func (b Bucket) Get(ctx context.Context, key string) (record.Object, error) {
	if err := b.checkOwned(ctx); err != nil {
		return record.Object{}, err
	}
	c, err := api.Read(ctx, b.Clients.Storage.Objects.Get(b.Name, key))
	if err != nil {
		return record.Object{}, err
	}
	return record.Object{
		Data: c.Data, Place: "gs://" + b.Name + "/" + key, Version: strconv.FormatInt(c.Generation, 10),
		Written: c.Written, Read: c.Read,
	}, nil
}

// errVersion reports a version that no object of Cloud Storage can have.
var errVersion = errors.New("another process has written it")

// generation converts a version to an object generation, 0 if the object must not exist.
func (b Bucket) generation(op, key, version string) (int64, error) {
	if version == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return 0, &cloud.Error{Kind: cloud.Conflict, Op: op, Resource: key, Err: errVersion}
	}
	return n, nil
}

// Put replaces version was of an object. If was is empty, it creates the object and fails if it
// exists.
func (b Bucket) Put(ctx context.Context, key string, data []byte, was string) (string, error) {
	generation, err := b.generation("storage.objects.insert", key, was)
	if err != nil {
		return "", err
	}
	if err := b.checkOwned(ctx); err != nil {
		return "", err
	}
	in := &storage.Object{Bucket: b.Name, Name: key, ContentType: "application/json"}
	out, err := b.Clients.Upload(ctx, in, bytes.NewReader(data), &generation)
	if err != nil {
		return "", err
	}
	return strconv.FormatInt(out.Generation, 10), nil
}

// Delete removes an object if its version is was.
func (b Bucket) Delete(ctx context.Context, key, was string) error {
	generation, err := b.generation("storage.objects.delete", key, was)
	if err != nil {
		return err
	}
	if err := b.checkOwned(ctx); err != nil {
		return infra.IgnoreMissing(err)
	}
	return infra.IgnoreMissing(api.Delete(ctx, b.Clients.Storage.Objects.Delete(b.Name, key).IfGenerationMatch(generation)))
}

// DestroyExcept removes all objects but one.
func (b Bucket) DestroyExcept(ctx context.Context, key string) error {
	err := b.checkOwned(ctx)
	if err == nil {
		err = datastore.EmptyBucket(ctx, b.Clients, b.Name, key)
	}
	return infra.IgnoreMissing(err)
}

// Destroy removes the bucket with all its objects.
func (b Bucket) Destroy(ctx context.Context) error {
	err := b.checkOwned(ctx)
	if err == nil {
		defer b.owned.Store(false)
		// The machine may write its status meanwhile, which causes a conflict.
		err = b.Waiter.RetryOn(ctx, "bucket "+b.Name, infra.ToBeFree, cloud.Conflict, func() error {
			return datastore.DeleteBucket(ctx, b.Clients, b.Name)
		})
	}
	return infra.IgnoreMissing(err)
}
