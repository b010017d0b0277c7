package explain

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// refusedPods explains a controller whose pods the API server rejects.
func refusedPods(object, namespace, kind, name string, events []corev1.Event) (Trouble, bool) {
	e := eventOf(events, kind, name, "FailedCreate")
	if e == "" {
		return Trouble{}, false
	}
	t := Trouble{Object: object, What: "its pods are rejected", Event: e, Lasting: true}
	switch {
	case strings.Contains(e, "quota"):
		t.What = "its pods do not fit the namespace's ResourceQuota"
		t.Fix = fmt.Sprintf("raise it (see `kubectl describe quota -n %s`), or reduce the requests in the values", namespace)
	case strings.Contains(e, "violates PodSecurity"):
		t.What = "its pods violate the namespace's Pod Security level"
		t.Fix = fmt.Sprintf("label namespace %s with pod-security.kubernetes.io/enforce=baseline or privileged; see `det-deploy k8s doctor`", namespace)
	case strings.Contains(e, "serviceaccount"):
		t.What, t.Lasting = "its ServiceAccount does not exist", false
		t.Fix = "wait a moment: it is created with the release"
	case strings.Contains(e, "LimitRange"), strings.Contains(e, "maximum"), strings.Contains(e, "minimum"):
		t.What = "its pods do not fit the namespace's LimitRange"
		t.Fix = fmt.Sprintf("see `kubectl describe limitrange -n %s`, and change the requests and limits in the values", namespace)
	default:
		t.Fix = "see `kubectl describe -n " + namespace + " " + strings.ToLower(kind) + " " + name + "`"
	}
	return t, true
}

// explainClaim explains a claim that is not bound. A claim that waits for its first pod is no
// trouble.
func explainClaim(c corev1.PersistentVolumeClaim, s Seen) (Trouble, bool) {
	t := Trouble{Object: "persistentvolumeclaim " + c.Name}
	switch c.Status.Phase {
	case corev1.ClaimBound:
		return Trouble{}, false
	case corev1.ClaimLost:
		t.What, t.Lasting = "its volume is gone", true
		t.Fix = "restore the volume, or a backup with `det-deploy master restore`"
		return t, true
	default:
	}
	class := s.DefaultClass
	if c.Spec.StorageClassName != nil {
		class = *c.Spec.StorageClassName
	}
	onFirstUse, exists := s.Classes[class]
	failed := eventOf(s.Events, "PersistentVolumeClaim", c.Name, "ProvisioningFailed")
	switch {
	case failed != "":
		t.What, t.Event = "its volume cannot be provisioned", failed
		t.Fix = "fix the error of the storage driver, or set another class in the storageClassName value"
	case s.Classes != nil && class == "":
		t.What, t.Lasting = "it has no StorageClass and the cluster has no default", true
		t.Event = eventOf(s.Events, "PersistentVolumeClaim", c.Name, "FailedBinding")
		t.Fix = "set one in the storageClassName value, or mark a default with `kubectl annotate storageclass NAME storageclass.kubernetes.io/is-default-class=true`"
	case s.Classes != nil && !exists:
		t.What, t.Lasting = fmt.Sprintf("StorageClass %s does not exist", class), true
		t.Event = eventOf(s.Events, "PersistentVolumeClaim", c.Name)
		t.Fix = "set a class listed by `kubectl get storageclass` in the storageClassName value"
	case onFirstUse && !isMounted(c, s.Pods):
		return Trouble{}, false
	default:
		t.What = "its volume is not bound yet"
		t.Event = cmp.Or(eventOf(s.Events, "PersistentVolumeClaim", c.Name), eventOf(s.Events, "PersistentVolumeClaim", c.Name, "ExternalProvisioning", "Provisioning", "WaitForFirstConsumer", "WaitForPodScheduled"))
		t.Fix = "check that the storage driver of class " + class + " is running"
	}
	return t, true
}

// isMounted reports whether a scheduled pod mounts the claim.
func isMounted(c corev1.PersistentVolumeClaim, pods []corev1.Pod) bool {
	for _, p := range pods {
		if p.Namespace != c.Namespace || p.Spec.NodeName == "" {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == c.Name {
				return true
			}
		}
	}
	return false
}

// balancerNote returns a note about a load balancer without an address. Clusters without a
// controller never assign one; everything else works.
func balancerNote(s corev1.Service) string {
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Status.LoadBalancer.Ingress) > 0 || len(s.Spec.Ports) == 0 {
		return ""
	}
	port := s.Spec.Ports[0]
	return fmt.Sprintf("service %s has no address from a load balancer yet; until then use node port %d, or `kubectl port-forward -n %s service/%s %d`",
		s.Name, port.NodePort, s.Namespace, s.Name, port.Port)
}
