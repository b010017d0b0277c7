package k8s

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Secrets is what the record needs of a namespace.
type Secrets interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, s *corev1.Secret, o metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, s *corev1.Secret, o metav1.UpdateOptions) (*corev1.Secret, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// Store keeps a cluster's record in a Secret outside the release, so that it is
// there before the release is and after it has gone. Each key of the Secret is an
// object; an annotation beside it holds its version, and the server itself notes
// when the key's manager last wrote it.
type Store struct {
	Secrets Secrets
	// Namespace and Cluster are whose record it is.
	Namespace, Cluster string
	// Before is done before the place is made: the namespace may have to be. It may
	// be nil.
	Before func(context.Context) error
}

var _ record.Store = Store{}

// collisions bounds how often a write is retried because another process wrote another
// key of the Secret at the same moment.
const collisions = 16

// Make makes the Secret.
func (s Store) Make(ctx context.Context) error {
	if s.Before != nil {
		if err := s.Before(ctx); err != nil {
			return err
		}
	}
	_, err := s.Secrets.Create(ctx, s.blankSecret(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return s.explainError("create", err)
}

// Get reads a key.
func (s Store) Get(ctx context.Context, key string) (record.Object, error) {
	have, err := s.Secrets.Get(ctx, s.secretName(), metav1.GetOptions{})
	if err != nil {
		return record.Object{}, s.explainError("get", err)
	}
	o := objectIn(have, key)
	if o.Version == "" {
		return o, &cloud.Error{Kind: cloud.NotFound, Op: "read", Resource: s.secretResource() + "/" + key, Err: errors.New("it is not there")}
	}
	o.Read = s.serverTime(ctx)
	if o.Read.Before(o.Written) {
		o.Read = o.Written // several servers, or a fallback to this machine's clock
	}
	return o, nil
}

// Put writes a key.
func (s Store) Put(ctx context.Context, key string, data []byte, was string) (string, error) {
	version := rand.Text()
	err := s.changeSecret(ctx, key, was, func(have *corev1.Secret) {
		if have.Data == nil {
			have.Data = make(map[string][]byte)
		}
		if have.Annotations == nil {
			have.Annotations = make(map[string]string)
		}
		have.Data[key], have.Annotations[versionOf(key)] = data, version
	})
	return version, err
}

// Delete removes a key.
func (s Store) Delete(ctx context.Context, key, was string) error {
	gone := false
	err := s.changeSecret(ctx, key, was, func(have *corev1.Secret) {
		delete(have.Data, key)
		delete(have.Annotations, versionOf(key))
	})
	if err != nil {
		_, look := s.Get(ctx, key)
		gone = cloud.KindOf(look) == cloud.NotFound
	}
	if gone {
		return nil
	}
	return err
}

// Destroy removes the Secret.
func (s Store) Destroy(ctx context.Context) error {
	err := s.Secrets.Delete(ctx, s.secretName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return s.explainError("delete", err)
}

// changeSecret edits the Secret while key has version was. A write that collides with one
// of another key is tried again; its own key's version decides.
func (s Store) changeSecret(ctx context.Context, key, was string, edit func(*corev1.Secret)) error {
	var err error
	for range collisions {
		var have *corev1.Secret
		if have, err = s.Secrets.Get(ctx, s.secretName(), metav1.GetOptions{}); err != nil {
			break
		}
		if objectIn(have, key).Version != was {
			return &cloud.Error{Kind: cloud.Conflict, Op: "write", Resource: s.secretResource() + "/" + key, Err: errors.New("another process wrote it first")}
		}
		edit(have)
		if _, err = s.Secrets.Update(ctx, have, metav1.UpdateOptions{FieldManager: managerOf(key)}); !apierrors.IsConflict(err) {
			break
		}
	}
	return s.explainError("update", err)
}

// serverTime reads the server's time with a dry-run creation of a Secret. Without
// permission it is this machine's.
func (s Store) serverTime(ctx context.Context) time.Time {
	o := s.blankSecret()
	o.Name, o.GenerateName = "", o.Name+"-"
	made, err := s.Secrets.Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil || made.CreationTimestamp.IsZero() {
		return time.Now()
	}
	return made.CreationTimestamp.Time
}

func (s Store) blankSecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: s.secretName(), Namespace: s.Namespace, Labels: objectLabels(s.Cluster, componentRecord)},
		Type:       recordType,
	}
}

func (s Store) secretName() string     { return recordPrefix + s.Cluster }
func (s Store) secretResource() string { return "secret/" + s.Namespace + "/" + s.secretName() }

func (s Store) explainError(op string, err error) error {
	if err == nil {
		return nil
	}
	return explainError(op, "secrets", s.Namespace, s.secretName(), err)
}

// objectIn reads a key without the time at which it was read. Its version is empty
// where it is not.
func objectIn(s *corev1.Secret, key string) record.Object {
	data, found := s.Data[key]
	if !found {
		return record.Object{}
	}
	o := record.Object{Data: data, Version: s.Annotations[versionOf(key)], Written: s.CreationTimestamp.Time}
	if o.Version == "" {
		o.Version = "by hand " + s.ResourceVersion // a user restored the data and not the annotations
	}
	for _, m := range s.ManagedFields {
		if m.Manager == managerOf(key) && m.Time != nil {
			o.Written = m.Time.Time
		}
	}
	return o
}

// versionOf is the annotation with a key's version, and managerOf the name under
// which it is written.
func versionOf(key string) string { return "version." + domain + "/" + key }
func managerOf(key string) string { return fmt.Sprintf("det-deploy-%s", key) }
