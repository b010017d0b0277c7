// Package streams opens streams into the containers of pods: programs through pods/exec and connections to
// ports through pods/portforward. Both use websockets and fall back to SPDY for old API servers and
// proxies.
package streams

import (
	"fmt"
	"net/url"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/det-deploy/det-deploy/master/rm"
)

// Client opens streams.
type Client struct {
	API kubernetes.Interface
	// Config is the configuration of API.
	Config *rest.Config
}

// Container is a container of a pod.
type Container struct{ Namespace, Pod, Name string }

// streamURL returns the address of a subresource of a pod.
func (c Client) streamURL(to Container, subresource string, options runtime.Object) *url.URL {
	return c.API.CoreV1().RESTClient().Post().Resource("pods").Namespace(to.Namespace).Name(to.Pod).
		SubResource(subresource).VersionedParams(options, scheme.ParameterCodec).URL()
}

func execOptions(to Container, argv []string, terminal bool) *corev1.PodExecOptions {
	return &corev1.PodExecOptions{Container: to.Name, Command: argv, Stdin: true, Stdout: true, Stderr: !terminal, TTY: terminal}
}

// mayFallBack reports whether a websocket failed in a way that SPDY may not, as in kubectl.
func mayFallBack(err error) bool {
	return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
}

// explainError converts an error of the API server.
func explainError(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsNotFound(err):
		return rm.ErrNotRunning
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return &rm.UnreachableError{Reason: fmt.Sprintf("the master's account in Kubernetes may not open streams into pods (%v); "+
			"its Role must grant create and get on pods/exec and pods/portforward, as that of the chart does since this version", err)}
	}
	return fmt.Errorf("open a stream into the pod: %w", err)
}
