// Package secrets generates the missing secrets of a cluster, once: the
// password of its first users and of its database. They are kept in one Secret
// that belongs to no Helm release, so that rendering the chart twice gives the same,
// and so that they live as long as the data they open.
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

// attempts bounds how often a change by another process is met with another look. Two
// pods of one cluster make secrets at a time.
const attempts = 10

// Wanted is the Secret that there must be.
type Wanted struct {
	// Name is its name, Cluster the value of its label.
	Name, Cluster string
	// Keys are the entries that there must be. Others are left alone.
	Keys []string
	// Copies are those of Keys that get the value of another entry where that is there
	// already: what later versions keep apart was one before.
	Copies map[string]string
	// New makes the value of a missing entry; nil means Password.
	New func() (string, error)
}

// Ensure makes what is missing of a Secret and returns the wanted entries. An existing
// entry is never changed. It may be called any number of times, at
// the same time too: all callers return the same values.
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
	return nil, fmt.Errorf("make secret %s: %w", w.Name, err)
}

// ensureOnce reads and creates; a conflict means that another process was faster.
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
	// The update names the version that was looked at, and is refused when there
	// is another by now.
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
			// GitOps tools that delete what they did not make leave this alone.
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

// isKind reports whether an error is of a kind, whether translated or the API server's
// own.
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
