package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/det-deploy/det-deploy/k8s/kube"
)

// pullSecret checks the pull secret in the master's namespace; the master copies it for each task.
func (w Wanted) pullSecret(ctx context.Context) Result {
	namespace := w.Namespace
	fix := fmt.Sprintf("`kubectl create secret docker-registry %s -n %s --docker-server=… --docker-username=… --docker-password=…`", w.PullSecret, namespace)
	s, err := w.Client.CoreV1().Secrets(namespace).Get(ctx, w.PullSecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Result{Answer: Fail, Found: "it does not exist in namespace " + namespace, Needed: "the Secret of imagePullSecretName", Fix: fix}
	}
	if err != nil {
		return unknownResult(kube.Call{Verb: "get", Resource: "secrets", Namespace: namespace, Name: w.PullSecret}, err)
	}
	if s.Type != corev1.SecretTypeDockerConfigJson && s.Type != corev1.SecretTypeDockercfg {
		return Result{Answer: Fail, Found: "its type is " + string(s.Type), Needed: string(corev1.SecretTypeDockerConfigJson), Fix: fix}
	}
	if w.TaskNamespace != "" {
		return passResult("it exists; the master copies it for each task in namespace %s", w.TaskNamespace)
	}
	return passResult("it exists")
}

// checkNamed checks that a referenced entry exists, without reading its content.
func (w Wanted) checkNamed(ctx context.Context, n Named) Result {
	s, err := w.Client.CoreV1().Secrets(w.Namespace).Get(ctx, n.Name, metav1.GetOptions{})
	fix := fmt.Sprintf("`kubectl create secret generic %s -n %s --from-file=%s=FILE`", n.Name, w.Namespace, cmp.Or(n.Key, "NAME"))
	switch {
	case apierrors.IsNotFound(err):
		return Result{Answer: Fail, Found: "it does not exist", Needed: "the Secret of " + n.Value, Fix: fix}
	case err != nil:
		return unknownResult(kube.Call{Verb: "get", Resource: "secrets", Namespace: w.Namespace, Name: n.Name}, err)
	case n.Key != "" && len(s.Data[n.Key]) == 0:
		return Result{Answer: Fail, Found: "it has no key " + n.Key, Needed: "the key of " + n.Value, Fix: "add the key, or set another one in " + n.Value}
	}
	return passResult("it exists")
}

func (w Wanted) tlsSecret(ctx context.Context) Result {
	s, err := w.Client.CoreV1().Secrets(w.Namespace).Get(ctx, w.TLSSecret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Result{Answer: Fail, Found: "it does not exist", Needed: "the Secret of tlsSecret", Fix: w.tlsFix()}
	}
	if err != nil {
		return unknownResult(kube.Call{Verb: "get", Resource: "secrets", Namespace: w.Namespace, Name: w.TLSSecret}, err)
	}
	r := judgeTLS(s, time.Now())
	if r.Answer != Pass {
		r.Fix = w.tlsFix()
	}
	return r
}

func (w Wanted) tlsFix() string {
	return fmt.Sprintf("`kubectl create secret tls %s -n %s --cert=FILE --key=FILE`", w.TLSSecret, w.Namespace)
}

// soon is the remaining validity below which a certificate is reported.
const soon = 14 * 24 * time.Hour

// judgeTLS parses the pair like the master. It makes no calls.
func judgeTLS(s *corev1.Secret, now time.Time) Result {
	needed := "a certificate and its key, of type " + string(corev1.SecretTypeTLS)
	if s.Type != corev1.SecretTypeTLS {
		return Result{Answer: Fail, Found: "its type is " + string(s.Type), Needed: needed}
	}
	pair, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return Result{Answer: Fail, Found: err.Error(), Needed: needed}
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return Result{Answer: Fail, Found: err.Error(), Needed: needed}
	}
	until := leaf.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case now.After(leaf.NotAfter):
		return Result{Answer: Fail, Found: "the certificate expired on " + until, Needed: "a valid certificate"}
	case now.Before(leaf.NotBefore):
		return Result{Answer: Fail, Found: "the certificate is not valid before " + leaf.NotBefore.UTC().Format(time.DateOnly), Needed: "a valid certificate"}
	case leaf.NotAfter.Sub(now) < soon:
		return Result{Answer: Unknown, Found: "the certificate expires on " + until, Needed: "a certificate that is valid for longer"}
	case len(leaf.DNSNames)+len(leaf.IPAddresses) == 0:
		return Result{Answer: Fail, Found: "the certificate has no subject alternative names", Needed: "a certificate with the master's names as subject alternative names"}
	}
	return passResult("a certificate for %v until %s", leaf.DNSNames, until)
}
