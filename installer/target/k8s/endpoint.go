package k8s

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/installer/target/k8s/chart"
)

// access finds and connects to a master.
type access struct {
	waiter
	values chart.Values
	// answerLimit is how long a master whose pod is ready may take to answer.
	answerLimit time.Duration
}

// Endpoint is the address of a cluster's master outside Kubernetes, and the certificates to trust.
type Endpoint struct {
	// URL is empty while the master is only reachable inside Kubernetes.
	URL string
	// Kind is LoadBalancer, NodePort, Ingress, Route or ClusterIP.
	Kind string
	// Service and Port are those of the Service, for `kubectl port-forward`.
	Service string
	Port    int32
	// TLS reports whether the master itself terminates TLS. CA signs its certificate, and is empty
	// if the Secret does not contain it.
	TLS bool
	CA  []byte
}

// localPort is the local port in the command that Forward returns.
const localPort = 8080

// Forward returns the command that forwards the master's port to this computer.
func (e Endpoint) Forward(namespace string) string {
	return fmt.Sprintf("kubectl -n %s port-forward service/%s %d:%d", namespace, e.Service, localPort, e.Port)
}

// Forwarded returns the URL of the forwarded port.
func (e Endpoint) Forwarded() string {
	return e.urlScheme() + "://localhost:" + strconv.Itoa(localPort)
}

func (e Endpoint) urlScheme() string {
	if e.TLS {
		return "https"
	}
	return "http"
}

// Endpoint returns the address of the master. It returns an error of kind NotFound if the Service
// does not exist.
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

// balancerAddress returns the address of the load balancer, or "" before it has one.
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

// nodeAddress returns an address of a ready node, preferably the external one. It returns ""
// without permission to list nodes.
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

// masterAuthority returns the CA of the master's certificate from its Secret. It returns nil if the
// Secret cannot be read; then the system's CAs apply.
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

// selfSigned returns the self-signed certificates of a PEM chain. Only those need to be trusted
// explicitly, and reading the Secret authenticates them.
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
