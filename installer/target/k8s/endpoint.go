package k8s

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

// access is how a master is reached and opened.
type access struct {
	waiter
	values chart.Values
}

// Endpoint is where a cluster's master answers those outside of Kubernetes, and what
// to trust there.
type Endpoint struct {
	// URL is empty while there is no address but within Kubernetes.
	URL string
	// Kind is how it is reached: LoadBalancer, NodePort, Ingress, Route or ClusterIP.
	Kind string
	// Service and Port are the Service's, for `kubectl port-forward`.
	Service string
	Port    int32
	// TLS is true when the master itself ends TLS, and CA what signs its
	// certificate, if the Secret has it.
	TLS bool
	CA  []byte
}

// localPort is where the line that Forward gives makes the master answer.
const localPort = 8080

// Forward is the command that brings the master to this machine.
func (e Endpoint) Forward(namespace string) string {
	return fmt.Sprintf("kubectl -n %s port-forward service/%s %d:%d", namespace, e.Service, localPort, e.Port)
}

// Forwarded is where the master answers while that runs.
func (e Endpoint) Forwarded() string {
	return e.urlScheme() + "://localhost:" + strconv.Itoa(localPort)
}

func (e Endpoint) urlScheme() string {
	if e.TLS {
		return "https"
	}
	return "http"
}

// Endpoint looks where the master answers. It is a refusal of kind NotFound while
// there is no Service.
func (t *Target) Endpoint(ctx context.Context) (Endpoint, error) {
	return t.newAccess().masterEndpoint(ctx)
}

func (t access) masterEndpoint(ctx context.Context) (Endpoint, error) {
	s, err := t.API.CoreV1().Services(t.Namespace).Get(ctx, servicePrefix+t.Cluster, metav1.GetOptions{})
	if err != nil {
		return Endpoint{}, t.explainError("get", "services", servicePrefix+t.Cluster, err)
	}
	e := Endpoint{Kind: string(s.Spec.Type), Service: s.Name}
	if len(s.Spec.Ports) > 0 {
		e.Port = s.Spec.Ports[0].Port
	}
	if name := t.values.Text("tlsSecret"); name != "" {
		e.TLS, e.CA = true, t.masterAuthority(ctx, name)
	}
	switch {
	case t.values.Text("ingress.host") != "" && t.values.True("ingress.enabled"):
		e.Kind = "Ingress"
		e.URL = schemeOf(t.values.Text("ingress.tlsSecret") != "" || t.values.True("ingress.passthrough")) + "://" + t.values.Text("ingress.host")
	case t.values.Text("openshiftRoute.host") != "" && t.values.True("openshiftRoute.enabled"):
		e.Kind = "Route"
		e.URL = schemeOf(t.values.Text("openshiftRoute.termination") != "") + "://" + t.values.Text("openshiftRoute.host")
	case s.Spec.Type == corev1.ServiceTypeLoadBalancer:
		if host := balancerAddress(s); host != "" {
			e.URL = e.urlAt(host, e.Port)
		}
	case s.Spec.Type == corev1.ServiceTypeNodePort && len(s.Spec.Ports) > 0:
		if host := t.nodeAddress(ctx); host != "" {
			e.URL = e.urlAt(host, s.Spec.Ports[0].NodePort)
		}
	}
	return e, nil
}

func schemeOf(secure bool) string { return Endpoint{TLS: secure}.urlScheme() }

func (e Endpoint) urlAt(host string, port int32) string {
	return e.urlScheme() + "://" + net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// balancerAddress is the address that a load balancer gave, or empty while it has none.
func balancerAddress(s *corev1.Service) string {
	for _, in := range s.Status.LoadBalancer.Ingress {
		if in.Hostname != "" {
			return in.Hostname
		}
		if in.IP != "" {
			return in.IP
		}
	}
	return ""
}

// nodeAddress is an address of a node that is ready, the outer one where it has one. It is
// empty where nodes may not be listed.
func (t access) nodeAddress(ctx context.Context) string {
	nodes, err := t.API.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	inner := ""
	for _, n := range nodes.Items {
		for _, a := range n.Status.Addresses {
			switch {
			case !isReady(n):
			case a.Type == corev1.NodeExternalIP:
				return a.Address
			case a.Type == corev1.NodeInternalIP && inner == "":
				inner = a.Address
			}
		}
	}
	return inner
}

func isReady(n corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// masterAuthority is the CA of the master's certificate, from its Secret; empty if that
// cannot be read, and the system's CAs are used.
func (t access) masterAuthority(ctx context.Context, name string) []byte {
	s, err := t.API.CoreV1().Secrets(t.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	if ca := s.Data["ca.crt"]; len(ca) > 0 {
		return ca
	}
	return selfSigned(s.Data[corev1.TLSCertKey])
}

// selfSigned are those of PEM certificates that sign themselves: no other CA vouches
// for them, and users who can read the Secret know them.
func selfSigned(chain []byte) []byte {
	var out []byte
	for block, rest := pem.Decode(chain); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err == nil && bytes.Equal(c.RawIssuer, c.RawSubject) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil {
			out = append(out, pem.EncodeToMemory(block)...)
		}
	}
	return out
}
