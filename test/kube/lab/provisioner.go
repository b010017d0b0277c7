package lab

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	provisionerName = "kubelab.local/hostpath"
	provisionedBy   = "pv.kubernetes.io/provisioned-by"
	selectedNode    = "volume.kubernetes.io/selected-node"
)

// provisioner creates a directory of the machine as the volume of each claim of its class, and
// removes the directory with the volume.
type provisioner struct {
	lab     *Lab
	client  kubernetes.Interface
	claims  corelisters.PersistentVolumeClaimLister
	volumes corelisters.PersistentVolumeLister
	classes storagelisters.StorageClassLister
	log     *slog.Logger
}

// Provision serves claims until ctx ends.
func (l *Lab) Provision(ctx context.Context, log *slog.Logger) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	f := informers.NewSharedInformerFactory(client, 0)
	claims, volumes, classes := f.Core().V1().PersistentVolumeClaims(), f.Core().V1().PersistentVolumes(), f.Storage().V1().StorageClasses()
	wake := make(chan struct{}, 1)
	changed := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	}
	for _, i := range []cache.SharedIndexInformer{claims.Informer(), volumes.Informer(), classes.Informer()} {
		if _, err := i.AddEventHandler(handler); err != nil {
			return err
		}
	}
	f.Start(ctx.Done())
	f.WaitForCacheSync(ctx.Done())
	p := provisioner{l, client, claims.Lister(), volumes.Lister(), classes.Lister(), log}
	for {
		again := time.Hour
		if !p.pass(ctx) {
			again = time.Second
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-time.After(again):
		}
	}
}

// pass provisions pending claims and deletes released volumes. It returns false if an operation
// must be retried.
func (p provisioner) pass(ctx context.Context) bool {
	done := true
	try := func(err error) {
		done = done && err == nil
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			p.log.Warn("serve a claim", "err", err)
		}
	}
	claims, err := p.claims.List(labels.Everything())
	try(err)
	for _, c := range claims {
		if class, wanted := p.wants(c); wanted {
			try(p.make(ctx, c, class))
		}
	}
	volumes, err := p.volumes.List(labels.Everything())
	try(err)
	for _, v := range volumes {
		if released(v) {
			try(p.remove(ctx, v))
		}
	}
	return done
}

// wants reports whether a claim has our provisioner and waits for a volume.
func (p provisioner) wants(c *corev1.PersistentVolumeClaim) (*storagev1.StorageClass, bool) {
	if c.Status.Phase != corev1.ClaimPending || c.Spec.VolumeName != "" || c.DeletionTimestamp != nil || c.Spec.StorageClassName == nil {
		return nil, false
	}
	class, err := p.classes.Get(*c.Spec.StorageClassName)
	if err != nil || class.Provisioner != provisionerName {
		return nil, false
	}
	if _, err := p.volumes.Get(volumeName(c)); err == nil {
		return nil, false
	}
	mode := class.VolumeBindingMode
	waits := mode != nil && *mode == storagev1.VolumeBindingWaitForFirstConsumer
	return class, !waits || c.Annotations[selectedNode] != ""
}

func released(v *corev1.PersistentVolume) bool {
	return v.Annotations[provisionedBy] == provisionerName && v.Status.Phase == corev1.VolumeReleased &&
		v.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete && v.DeletionTimestamp == nil
}

// remove deletes a volume, and its directory only if that is directly in our own directory.
func (p provisioner) remove(ctx context.Context, v *corev1.PersistentVolume) error {
	if h := v.Spec.HostPath; h != nil && filepath.Dir(h.Path) == p.lab.path("volumes") {
		if err := os.RemoveAll(h.Path); err != nil {
			return err
		}
	}
	return p.client.CoreV1().PersistentVolumes().Delete(ctx, v.Name, metav1.DeleteOptions{})
}
