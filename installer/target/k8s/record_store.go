package k8s

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/installer/record"
)

// Secrets is the part of the API that the record needs.
type Secrets interface {
	Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Secret, error)
	Create(ctx context.Context, s *corev1.Secret, o metav1.CreateOptions) (*corev1.Secret, error)
	Update(ctx context.Context, s *corev1.Secret, o metav1.UpdateOptions) (*corev1.Secret, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions) error
}

// Store keeps a cluster's record in a Secret outside the release, so that it exists before and
// after the release. Each key of the Secret is an object; an annotation holds its version, and the
// server's managed fields hold the time when the key was last written.
type Store struct {
	Secrets Secrets
	// Namespace and Cluster identify the record's cluster.
	Namespace, Cluster string
	// Before is called before the Secret is created, for example to create the namespace. It may be
	// nil.
	Before func(context.Context) error
}

var _ record.Keeper = Store{}

// collisions is the number of attempts at a write that conflicts with writes of other keys of the
// Secret.
const collisions = 16

// Make creates the Secret.
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
		o.Read = o.Written // several servers, or a fallback to this computer's clock
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

// Delete deletes a key.
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

// Destroy deletes the Secret.
func (s Store) Destroy(ctx context.Context) error {
	err := s.Secrets.Delete(ctx, s.secretName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return s.explainError("delete", err)
}

// DestroyExcept deletes all keys but one.
func (s Store) DestroyExcept(ctx context.Context, key string) error {
	have, err := s.Get(ctx, key)
	if cloud.KindOf(err) == cloud.NotFound {
		return s.Destroy(ctx)
	}
	if err != nil {
		return err
	}
	return s.changeSecret(ctx, key, have.Version, func(all *corev1.Secret) {
		maps.DeleteFunc(all.Data, func(other string, _ []byte) bool { return other != key })
		maps.DeleteFunc(all.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, versionOf("")) && name != versionOf(key) })
	})
}

// changeSecret edits the Secret if key has version was. It retries a write that conflicts with one
// of another key; only the version of the key itself decides.
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

// serverTime reads the server's time with a dry-run creation of a Secret. Without permission for
// that, it returns the time of this computer.
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

// objectIn returns a key's object without its read time. The version is empty if the key does not
// exist.
func objectIn(s *corev1.Secret, key string) record.Object {
	data, found := s.Data[key]
	if !found {
		return record.Object{}
	}
	o := record.Object{Data: data, Version: s.Annotations[versionOf(key)], Written: s.CreationTimestamp.Time}
	if o.Version == "" {
		o.Version = "by hand " + s.ResourceVersion // a user restored the data without the annotations
	}
	for _, m := range s.ManagedFields {
		if m.Manager == managerOf(key) && m.Time != nil {
			o.Written = m.Time.Time
		}
	}
	return o
}

// versionOf returns the annotation with a key's version, and managerOf the field manager that
// writes it.
func versionOf(key string) string { return "version." + domain + "/" + key }
func managerOf(key string) string { return fmt.Sprintf("det-deploy-%s", key) }
