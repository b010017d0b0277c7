// Package claim creates the volume claim for the checkpoints of a cluster.
//
// The master creates it rather than the chart: a claim with a class that binds on first use stays
// pending until a pod mounts it, and `helm install --wait` would wait for that.
package claim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/det-deploy/det-deploy/internal/wait"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// Wanted is the desired claim. An existing claim of that name is used unchanged, and differences
// are logged, because Kubernetes only permits a claim to grow, if its class supports that.
type Wanted struct {
	Name, Namespace string
	// Cluster is the value of the cluster label.
	Cluster string
	Size    resource.Quantity
	// Class is the StorageClass; empty for the default.
	Class string
	Mode  corev1.PersistentVolumeAccessMode
}

// Intervals at which a Keeper checks the claim, and retries a failed creation.
const (
	lookAgain = 5 * time.Minute
	tryAgain  = 10 * time.Second
)

// Keeper creates a claim, and creates it again if a user has deleted it.
type Keeper struct {
	log    *slog.Logger
	client kubernetes.Interface
	want   Wanted

	// difference and failure are the last logged messages; only Ensure uses them.
	difference, failure lastText

	mu      sync.Mutex // guards problem
	problem error
}

// NewKeeper returns a keeper of the claim; call Run.
func NewKeeper(log *slog.Logger, client kubernetes.Interface, want Wanted) *Keeper {
	return &Keeper{log: log, client: client, want: want}
}

// Run maintains the claim until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := lookAgain
		if err := k.Ensure(ctx); err != nil {
			pause = tryAgain
		}
		_ = wait.For(ctx, pause) // the loop checks ctx
	}
}

// Check returns the reason why pods that mount the named claim would wait forever, or nil. It
// returns nil for other claims, and before the first result of Ensure. It may be called on nil.
func (k *Keeper) Check(name string) error {
	if k == nil || name != k.want.Name {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.problem
}

// Ensure creates the claim unless it exists. Check returns a lasting error from then on; if the API
// server does not answer, Check keeps its previous result.
func (k *Keeper) Ensure(ctx context.Context) error {
	err := k.create(ctx)
	if ctx.Err() != nil {
		return err // the master is stopping
	}
	k.noteFailure(err)
	if err == nil || isLasting(err) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.problem = err
	}
	return err
}

func (k *Keeper) noteFailure(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if k.failure.isNews(text) {
		k.log.Warn("checkpoints have no place yet", "experiments_are_refused", isLasting(err), "err", err)
	}
}

// lastText is a text that is logged when it changes.
type lastText string

// isNews reports whether text is not empty and differs from the previous one.
func (l *lastText) isNews(text string) bool {
	news := text != "" && text != string(*l)
	*l = lastText(text)
	return news
}

// isLasting reports whether the same call would fail again.
func isLasting(err error) bool {
	_, missing := errors.AsType[missingClass](err)
	return missing || apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// missingClass is the error for a StorageClass that does not exist; empty means the default class.
type missingClass string

func (c missingClass) Error() string {
	what := "has no default StorageClass"
	if c != "" {
		what = "has no StorageClass " + string(c)
	}
	return "this cluster has no place for checkpoints, because Kubernetes " + what + ": set checkpointStorage.type to s3, gcs or azure, " +
		"or checkpointStorage.storageClassName to a class that `kubectl get storageclass` lists"
}

func (k *Keeper) create(ctx context.Context) error {
	claims := k.client.CoreV1().PersistentVolumeClaims(k.want.Namespace)
	there, err := claims.Get(ctx, k.want.Name, metav1.GetOptions{})
	if err == nil {
		if what := k.want.differs(there); k.difference.isNews(what) {
			k.log.Warn("the volume claim of checkpoints stays as it was made", "namespace", k.want.Namespace, "claim", k.want.Name, "difference", what)
		}
		return nil
	}
	if !apierrors.IsNotFound(err) {
		return k.wrap(err)
	}
	if err := k.checkClass(ctx); err != nil {
		return err
	}
	if _, err := claims.Create(ctx, k.want.object(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return k.wrap(err)
	}
	k.log.Info("made the volume claim of checkpoints", "namespace", k.want.Namespace, "claim", k.want.Name, "size", k.want.Size.String())
	return nil
}

func (k *Keeper) wrap(err error) error {
	return fmt.Errorf("the volume claim %s of checkpoints in namespace %s cannot be made: %w", k.want.Name, k.want.Namespace, err)
}

// checkClass returns an error if the class does not exist. Without it, the claim and the pods that
// mount it would stay pending.
func (k *Keeper) checkClass(ctx context.Context) error {
	list, err := k.client.StorageV1().StorageClasses().List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil // without cluster-wide permissions, Kubernetes has to check it
	}
	if err != nil {
		return k.wrap(err)
	}
	for _, c := range list.Items {
		if c.Name == k.want.Class || k.want.Class == "" && kube.IsDefaultClass(c) {
			return nil
		}
	}
	return missingClass(k.want.Class)
}

// differs describes the differences of a claim, or returns "".
func (w Wanted) differs(c *corev1.PersistentVolumeClaim) string {
	var out []string
	if size := c.Spec.Resources.Requests[corev1.ResourceStorage]; size.Cmp(w.Size) != 0 {
		out = append(out, fmt.Sprintf("storageSize is %s, not %s", size.String(), w.Size.String()))
	}
	if class := c.Spec.StorageClassName; w.Class != "" && class != nil && *class != w.Class {
		out = append(out, fmt.Sprintf("storageClassName is %s, not %s", *class, w.Class))
	}
	if !slices.Contains(c.Spec.AccessModes, w.Mode) {
		out = append(out, fmt.Sprintf("accessMode is %v, not %s", c.Spec.AccessModes, w.Mode))
	}
	return strings.Join(out, "; ")
}

func (w Wanted) object() *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.Name, Namespace: w.Namespace,
			Labels: map[string]string{podspec.LabelCluster: podspec.LabelValue(w.Cluster)},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{w.Mode},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: w.Size}},
		},
	}
	if w.Class != "" {
		c.Spec.StorageClassName = &w.Class
	}
	return c
}
