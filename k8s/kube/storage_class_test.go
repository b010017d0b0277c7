package kube_test

import (
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/kube"
)

func TestTheDefaultClassIsMarkedByEitherAnnotation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"none":     {nil, false},
		"stable":   {map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}, true},
		"beta":     {map[string]string{"storageclass.beta.kubernetes.io/is-default-class": "true"}, true},
		"not this": {map[string]string{"storageclass.kubernetes.io/is-default-class": "false"}, false},
	} {
		if got := kube.IsDefaultClass(storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}}); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
