package kube

import storagev1 "k8s.io/api/storage/v1"

// IsDefaultClass reports whether a StorageClass is the default. Kubernetes supports both
// annotations.
func IsDefaultClass(c storagev1.StorageClass) bool {
	return c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
}
