package lab

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// makeObjects creates the objects of a new cluster of a cloud provider.
func (l *Lab) makeObjects(ctx context.Context, s state) error {
	c, err := l.client()
	if err != nil {
		return err
	}
	if err := makeStorageClass(ctx, c); err != nil || !s.real() {
		return err
	}
	_, err = c.NodeV1().RuntimeClasses().Create(ctx, &nodev1.RuntimeClass{
		ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia",
	}, metav1.CreateOptions{})
	return errors.Join(unlessThere(err), l.makeDNS(ctx, c))
}

func makeStorageClass(ctx context.Context, c kubernetes.Interface) error {
	bind, reclaim := storagev1.VolumeBindingWaitForFirstConsumer, corev1.PersistentVolumeReclaimDelete
	_, err := c.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{
			Name: "standard", Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
		},
		Provisioner: provisionerName, VolumeBindingMode: &bind, ReclaimPolicy: &reclaim,
	}, metav1.CreateOptions{})
	return unlessThere(err)
}

// makeDNS creates the Service of the cluster's DNS. CoreDNS is a process of the node, not a pod, so
// the Service has a manual EndpointSlice.
func (l *Lab) makeDNS(ctx context.Context, c kubernetes.Interface) error {
	const namespace, service = "kube-system", "kube-dns"
	err := l.await(ctx, wait{what: "the namespace " + namespace, limit: 30 * time.Second}, func() error {
		_, err := c.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	udp, tcp, port, dns, dnsTCP, ready := corev1.ProtocolUDP, corev1.ProtocolTCP, int32(53), "dns", "dns-tcp", true
	_, err = c.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		Spec: corev1.ServiceSpec{ClusterIP: l.dnsIP, Ports: []corev1.ServicePort{
			{Name: dns, Port: port, Protocol: udp, TargetPort: intstr.FromInt32(port)},
			{Name: dnsTCP, Port: port, Protocol: tcp, TargetPort: intstr.FromInt32(port)},
		}},
	}, metav1.CreateOptions{})
	if unlessThere(err) != nil {
		return err
	}
	_, err = c.DiscoveryV1().EndpointSlices(namespace).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{l.nodeIP}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &dns, Port: &port, Protocol: &udp}, {Name: &dnsTCP, Port: &port, Protocol: &tcp}},
	}, metav1.CreateOptions{})
	return unlessThere(err)
}

func unlessThere(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
