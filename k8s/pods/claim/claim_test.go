package claim_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/det-deploy/det-deploy/k8s/pods/claim"
)

const name = "determined-checkpoints-lab"

func wanted() claim.Wanted {
	return claim.Wanted{
		Name: name, Namespace: "tasks", Cluster: "lab", Size: resource.MustParse("100Gi"), Mode: corev1.ReadWriteOnce,
	}
}

func class(name string, isDefault bool) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{}}}
	if isDefault {
		c.Annotations["storageclass.kubernetes.io/is-default-class"] = "true"
	}
	return c
}

func keeper(want claim.Wanted, objects ...runtime.Object) (*claim.Keeper, *fake.Clientset) {
	api := fake.NewClientset(objects...)
	return claim.NewKeeper(slog.New(slog.DiscardHandler), api, want), api
}

func TestTheClaimIsMadeOnce(t *testing.T) {
	t.Parallel()
	k, api := keeper(wanted(), class("standard", true))
	for range 2 {
		if err := k.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	made, err := api.CoreV1().PersistentVolumeClaims("tasks").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	size := made.Spec.Resources.Requests[corev1.ResourceStorage]
	if made.Spec.StorageClassName != nil || size.String() != "100Gi" || made.Spec.AccessModes[0] != corev1.ReadWriteOnce || made.Labels["det-deploy.dev/cluster"] != "lab" {
		t.Errorf("got claim %+v", made)
	}
	creates := 0
	for _, a := range api.Actions() {
		if a.Matches("create", "persistentvolumeclaims") {
			creates++
		}
	}
	if err := k.Check(name); err != nil || creates != 1 {
		t.Errorf("got problem %v and %d claims made, want none and 1", err, creates)
	}
}

func TestWithoutAClassExperimentsAreRefusedUntilThereIsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class, want string
	}{
		{"", "Kubernetes has no default StorageClass: set checkpointStorage.type to s3, gcs or azure"},
		{"fast", "Kubernetes has no StorageClass fast"},
	} {
		want := wanted()
		want.Class = c.class
		k, api := keeper(want, class("slow", false))
		if err := k.Check(name); err != nil {
			t.Errorf("before anything is known: got %v", err)
		}
		if err := k.Ensure(t.Context()); err == nil {
			t.Error("got a claim that no class makes")
		}
		if err := k.Check(name); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got problem %v, want %q", err, c.want)
		}
		if err := k.Check("another"); err != nil {
			t.Errorf("another claim: got problem %v", err)
		}
		if _, err := api.StorageV1().StorageClasses().Create(t.Context(), class("fast", true), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := k.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := k.Check(name); err != nil {
			t.Errorf("with a class: got problem %v", err)
		}
	}
}

func TestMasterWithoutAccessToClassesCreatesClaim(t *testing.T) {
	t.Parallel()
	k, api := keeper(wanted())
	api.PrependReactor("list", "storageclasses", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "storageclasses"}, "", errors.New("no role"))
	})
	if err := k.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := api.CoreV1().PersistentVolumeClaims("tasks").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func TestRejectedClaimIsReportedAndTimeoutIsNot(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, name, errors.New("exceeded quota: storage"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{forbidden, "the volume claim determined-checkpoints-lab of checkpoints in namespace tasks cannot be made: persistentvolumeclaims \"determined-checkpoints-lab\" is forbidden: exceeded quota"},
		{apierrors.NewInternalError(errors.New("etcd")), ""},
	} {
		k, api := keeper(wanted(), class("standard", true))
		api.PrependReactor("create", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, c.err })
		if err := k.Ensure(t.Context()); err == nil {
			t.Errorf("got no error of %v", c.err)
		}
		if err := k.Check(name); (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got problem %v, want %q", err, c.want)
		}
	}
}

func TestCheckWithoutKeeperFindsNothing(t *testing.T) {
	t.Parallel()
	var k *claim.Keeper
	if err := k.Check(name); err != nil {
		t.Error(err)
	}
}

func TestExistingClaimIsKeptAndDifferencesAreLoggedOnce(t *testing.T) {
	t.Parallel()
	k, api := keeper(wanted(), class("standard", true))
	if err := k.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	want := claim.Wanted{Name: name, Namespace: "tasks", Size: resource.MustParse("1Ti"), Mode: corev1.ReadWriteMany}
	again := claim.NewKeeper(slog.New(slog.NewTextHandler(&out, nil)), api, want)
	for range 2 {
		if err := again.Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "storageSize is 100Gi, not 1Ti; accessMode is [ReadWriteOnce], not ReadWriteMany") {
		t.Errorf("got log %q, want both differences once", got)
	}
	if err := again.Check(name); err != nil {
		t.Errorf("got problem %v, want that experiments go on", err)
	}
}
