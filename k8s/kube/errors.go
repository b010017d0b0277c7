package kube

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/det-deploy/det-deploy/cloud"
)

// Translate converts an error of a Kubernetes client to a *cloud.Error with its kind, the call and
// a fix. It returns nil for nil, and returns errors of the gate and translated errors unchanged.
func Translate(call Call, err error) error {
	return translateError(call, !isRead(call.Verb), err)
}

func isRead(verb string) bool { return verb == "get" || verb == "list" || verb == "watch" }

func translateError(call Call, changing bool, err error) error {
	if err == nil {
		return nil
	}
	if shut, ok := errors.AsType[*shutError](err); ok {
		return shut
	}
	if _, ok := errors.AsType[*cloud.Error](err); ok {
		return err
	}
	out := &cloud.Error{Op: call.String(), Resource: call.Object(), Err: err}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		out.Kind = kindOfStatus(status, changing)
		out.Fix = fixOf(call, status, out.Kind)
		return out
	}
	out.Kind, out.Err = kindOfNetwork(err), describeDial(err)
	if changing && out.Kind == cloud.Unknown {
		out.Kind = cloud.Ambiguous
	} else if out.Kind == cloud.Unknown {
		out.Kind = cloud.Unavailable
	}
	out.Fix = fixOfNetwork(err, out.Kind)
	return out
}

// statusError returns the API server's response as the error that client-go would return.
func statusError(resp *http.Response, call Call, raw []byte) error {
	var s metav1.Status
	if json.Unmarshal(raw, &s) == nil && s.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: s}
	}
	gr := schema.GroupResource{Group: call.Group, Resource: call.Resource}
	return apierrors.NewGenericServerResponse(resp.StatusCode, call.Verb, gr, call.Name, strings.TrimSpace(string(raw)), 0, true)
}

// kindOfStatus maps the API server's reasons to kinds.
func kindOfStatus(err *apierrors.StatusError, changing bool) cloud.Kind {
	switch code := int(err.ErrStatus.Code); {
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return cloud.Conflict
	case apierrors.IsForbidden(err) && overQuota(err):
		return cloud.Quota
	case apierrors.IsForbidden(err) && breaksPodSecurity(err):
		return cloud.Invalid
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), code == http.StatusForbidden, code == http.StatusUnauthorized:
		return cloud.Denied
	case apierrors.IsNotFound(err), code == http.StatusNotFound:
		return cloud.NotFound
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), apierrors.IsGone(err), apierrors.IsResourceExpired(err), code == http.StatusConflict:
		return cloud.Conflict
	case apierrors.IsTooManyRequests(err), code == http.StatusTooManyRequests:
		return cloud.RateLimited
	case code >= http.StatusInternalServerError && changing:
		return cloud.Ambiguous
	case code >= http.StatusInternalServerError:
		return cloud.Unavailable
	case code >= http.StatusBadRequest:
		return cloud.Invalid
	}
	return cloud.Unknown
}

// overQuota distinguishes an exceeded ResourceQuota from a missing permission by the message,
// because the API server uses the same reason and no cause for both.
func overQuota(err *apierrors.StatusError) bool {
	return strings.Contains(err.ErrStatus.Message, "exceeded quota") || strings.Contains(err.ErrStatus.Message, "failed quota")
}

// breaksPodSecurity detects a violation of the namespace's Pod Security level by the message,
// because it has no reason either.
func breaksPodSecurity(err *apierrors.StatusError) bool {
	return strings.Contains(err.ErrStatus.Message, "violates PodSecurity")
}

func fixOf(call Call, err *apierrors.StatusError, kind cloud.Kind) string {
	switch kind {
	case cloud.Denied:
		if apierrors.IsUnauthorized(err) {
			return "log in to the cluster again: it rejects these credentials; verify with `kubectl auth whoami`"
		}
		return deniedFix(call)
	case cloud.Quota:
		return fmt.Sprintf("raise the ResourceQuota of namespace %s (see `kubectl describe quota -n %s`), or request less", call.Namespace, call.Namespace)
	case cloud.Invalid:
		if breaksPodSecurity(err) {
			return fmt.Sprintf("label namespace %s with pod-security.kubernetes.io/enforce=privileged, or remove the rejected fields from the pod spec", call.Namespace)
		}
	case cloud.Conflict:
		if apierrors.HasStatusCause(err, "NamespaceTerminating") {
			return fmt.Sprintf("wait until namespace %s is deleted, or select another with --namespace", call.Namespace)
		}
	case cloud.Ambiguous:
		return "run the same command again; it continues from the current state"
	default:
	}
	return ""
}

// deniedFix names the required Role rule, and the command that checks it.
func deniedFix(call Call) string {
	if call.Resource == "" {
		return "ask the cluster's administrator for the permission"
	}
	where, flag, kind := "in namespace "+call.Namespace, " -n "+call.Namespace, "Role"
	if call.Namespace == "" {
		where, flag, kind = "at the cluster scope", "", "ClusterRole"
	}
	return fmt.Sprintf("ask for a %s that grants %s on %s %s; verify with `kubectl auth can-i %s %s%s`",
		kind, call.Verb, call.qualifiedResource(), where, call.Verb, call.qualifiedResource(), flag)
}

// kindOfNetwork returns the kind of an error without a response, or Unknown if the request may have
// arrived.
func kindOfNetwork(err error) cloud.Kind {
	if isUntrusted(err) {
		return cloud.Invalid
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return cloud.Unavailable
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return cloud.Unavailable
	}
	return cloud.Unknown
}

// dialError reports an address that does not answer, in the words of users.
type dialError struct {
	text string
	err  error
}

func (e *dialError) Error() string { return e.text }
func (e *dialError) Unwrap() error { return e.err }

// describeDial returns err with a text for users if no connection was made.
func describeDial(err error) error {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return &dialError{"cannot find the host " + name.Name + ": " + name.Err, err}
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "dial" || op.Addr == nil {
		return err
	}
	cause := op.Err.Error()
	if code, ok := errors.AsType[syscall.Errno](op.Err); ok {
		cause = code.Error()
	} else if op.Timeout() {
		cause = "it does not answer"
	}
	return &dialError{"cannot connect to " + op.Addr.String() + ": " + cause, err}
}

func isUntrusted(err error) bool {
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	return authority || host || invalid
}

func fixOfNetwork(err error, kind cloud.Kind) string {
	switch {
	case errors.Is(err, context.Canceled):
		return ""
	case kind == cloud.Invalid:
		return "set --certificate-authority to the CA of the API server's certificate"
	case kind == cloud.Ambiguous:
		return "run the same command again; it continues from the current state"
	}
	return "check that the API server is reachable (`kubectl version`) and that --kube-context is correct"
}
