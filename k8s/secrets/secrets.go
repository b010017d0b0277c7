// Package secrets generates the missing secrets of a cluster once: the passwords of its initial
// users and of its database. They are stored in a Secret that does not belong to the Helm release,
// so that rendering the chart is deterministic and the Secret lives as long as the data.
package secrets

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/det-deploy/det-deploy/cloud"
)

// attempts is the maximum number of attempts after conflicts. Two pods of a cluster create secrets
// at the same time.
const attempts = 10

// Wanted describes a required Secret.
type Wanted struct {
	// Name is the name of the Secret, Cluster the value of its label.
	Name, Cluster string
	// Keys are the required entries. Others are left unchanged.
	Keys []string
	// Copies maps entries of Keys to the entry whose value they copy if that exists: earlier
	// versions used one entry for both.
	Copies map[string]string
	// New generates the value of a missing entry; nil means Password.
	New func() (string, error)
}

// Ensure creates the missing entries of a Secret and returns the required ones. It never changes an
// existing entry. It may be called repeatedly and concurrently: all callers get the same values.
func Ensure(ctx context.Context, api typed.SecretInterface, w Wanted) (map[string][]byte, error) {
	if w.New == nil {
		w.New = Password
	}
	var err error
	for range attempts {
		var got *corev1.Secret
		if got, err = w.ensureOnce(ctx, api); err == nil {
			return w.entriesOf(got), nil
		}
		if !isKind(err, cloud.Conflict) {
			break
		}
	}
	return nil, fmt.Errorf("create secret %s: %w", w.Name, err)
}

// ensureOnce reads and then creates or updates the Secret. It returns a conflict if another process
// was faster.
func (w Wanted) ensureOnce(ctx context.Context, api typed.SecretInterface) (*corev1.Secret, error) {
	there, err := api.Get(ctx, w.Name, metav1.GetOptions{})
	if isKind(err, cloud.NotFound) {
		made := w.emptySecret()
		if err := w.fillMissing(made); err != nil {
			return nil, err
		}
		return api.Create(ctx, made, metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	if len(w.missingKeys(there)) == 0 {
		return there, nil
	}
	// The update contains the resource version that was read, and the API server rejects it if the
	// Secret has changed since.
	if err := w.fillMissing(there); err != nil {
		return nil, err
	}
	return api.Update(ctx, there, metav1.UpdateOptions{})
}

func (w Wanted) emptySecret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.Name,
			Labels: map[string]string{
				"app.kubernetes.io/name": "determined", "app.kubernetes.io/instance": w.Cluster,
				"app.kubernetes.io/component": "secrets", "app.kubernetes.io/managed-by": "det-deploy",
				"det-deploy.dev/cluster": w.Cluster,
			},
			// Prevents GitOps tools from deleting the Secret, which they did not create.
			Annotations: map[string]string{
				"argocd.argoproj.io/sync-options": "Prune=false", "kustomize.toolkit.fluxcd.io/prune": "disabled",
			},
		},
		Type: corev1.SecretTypeOpaque,
	}
}

func (w Wanted) missingKeys(s *corev1.Secret) []string {
	return slices.DeleteFunc(slices.Clone(w.Keys), func(key string) bool { return len(s.Data[key]) > 0 })
}

func (w Wanted) fillMissing(s *corev1.Secret) error {
	before := s.Data
	s.Data = maps.Clone(before)
	if s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for _, key := range w.missingKeys(s) {
		if former := before[w.Copies[key]]; len(former) > 0 {
			s.Data[key] = former
			continue
		}
		value, err := w.New()
		if err != nil {
			return err
		}
		s.Data[key] = []byte(value)
	}
	return nil
}

func (w Wanted) entriesOf(s *corev1.Secret) map[string][]byte {
	out := make(map[string][]byte, len(w.Keys))
	for _, key := range w.Keys {
		out[key] = bytes.Clone(s.Data[key])
	}
	return out
}

// isKind reports whether a translated or untranslated error has a kind.
func isKind(err error, kind cloud.Kind) bool {
	switch {
	case err == nil:
		return false
	case cloud.KindOf(err) == kind:
		return true
	case kind == cloud.NotFound:
		return apierrors.IsNotFound(err)
	case kind == cloud.Conflict:
		return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)
	}
	return false
}
