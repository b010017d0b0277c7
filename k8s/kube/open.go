// Package kube opens the Kubernetes cluster that the user selects, with kubectl's rules, and wraps
// every call: the gate stops calls that are not allowed, safe calls are retried, and errors are
// explained. No other package creates Kubernetes clients.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// Options selects a cluster with the equivalents of kubectl's flags, and configures the calls.
// Empty fields have kubectl's defaults: KUBECONFIG, then ~/.kube/config with its current context,
// then the pod's service account.
type Options struct {
	// Kubeconfig is --kubeconfig, a file that replaces KUBECONFIG.
	Kubeconfig string
	// Context, Cluster, User and Namespace are names within the kubeconfig.
	Context, Cluster, User, Namespace string
	// Server is --server, the API server's address.
	Server string
	// Token is --token, a bearer token.
	Token string
	// CertificateAuthority is --certificate-authority, a file.
	CertificateAuthority string
	// InsecureSkipTLSVerify is --insecure-skip-tls-verify.
	InsecureSkipTLSVerify bool
	// TLSServerName is --tls-server-name.
	TLSServerName string
	// As and AsGroups are --as and --as-group, the user and groups to impersonate.
	As       string
	AsGroups []string
	// RequestTimeout is --request-timeout; zero means AnswerLimit, and no limit for streams.
	RequestTimeout time.Duration

	// InCluster ignores all kubeconfigs and uses the pod's service account.
	InCluster bool

	// UserAgent is the User-Agent header: "det-deploy/1.2.3".
	UserAgent string
	// Gate is checked before every call that changes state. If nil, all calls pass.
	Gate *resource.Gate
	// Log receives one line per call at debug level. If nil, nothing is logged.
	Log *slog.Logger
}

// API is the typed client of a cluster. The alias confines client-go to this package.
type API = kubernetes.Interface

// Client is a client of one cluster with one user and one namespace. All clients that its methods
// return share the same transport.
type Client struct {
	config    *rest.Config // without the edge
	namespace string
	context   string
	loader    clientcmd.ClientConfig
	edge      edge
}

// Open reads the kubeconfig, or the pod's service account. It makes no call.
func Open(o Options) (*Client, error) {
	c := &Client{edge: edge{gate: o.Gate, log: o.Log}}
	if c.edge.log == nil {
		c.edge.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if o.InCluster {
		err = c.fromPod(o)
	} else {
		err = c.fromKubeconfig(o)
	}
	if err != nil {
		return nil, err
	}
	// The API server enforces fairness and returns 429 when it is overloaded. client-go's own limit
	// of five calls per second would only add delays.
	c.config.QPS = -1
	c.config.UserAgent = cmp.Or(o.UserAgent, "det-deploy")
	c.config.WarningHandlerWithContext = warnings{c.edge.log}
	return c, nil
}

func (c *Client) fromPod(o Options) error {
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return unusableContext(err, "run this in a pod, or use a kubeconfig")
	}
	c.config, c.namespace = cfg, cmp.Or(o.Namespace, podNamespace(), "default")
	api := clientcmdapi.NewConfig()
	c.loader = clientcmd.NewDefaultClientConfig(*api, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: c.namespace}})
	return nil
}

// podNamespace returns the namespace of the pod in which this process runs, or "".
func podNamespace() string {
	b, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return "" // an account without the file
	}
	return strings.TrimSpace(string(b))
}

func (c *Client) fromKubeconfig(o Options) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	rules.WarnIfAllMissing = false
	c.loader = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, configOverrides(o))
	raw, err := c.loader.RawConfig()
	if err != nil {
		return unusableContext(err, "set --kubeconfig or KUBECONFIG to a readable kubeconfig")
	}
	c.context = cmp.Or(o.Context, raw.CurrentContext)
	if _, found := raw.Contexts[c.context]; o.Context != "" && !found {
		return unusableContext(fmt.Errorf("there is no context %q", o.Context), "set --kube-context to an existing one: "+contextNames(raw.Contexts))
	}
	cfg, err := c.loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return unusableContext(errors.New("no cluster is selected"), "set --kubeconfig or KUBECONFIG, and --kube-context")
	}
	if err != nil {
		return unusableContext(err, "fix the kubeconfig; see `kubectl config view`")
	}
	cfg.Timeout = o.RequestTimeout
	ns, _, err := c.loader.Namespace()
	if err != nil {
		return unusableContext(err, "set --namespace")
	}
	c.config, c.namespace = cfg, ns
	return nil
}

// Contexts returns the sorted contexts of the selected kubeconfig and its current context. A
// kubeconfig without contexts is no error.
func Contexts(o Options) (all []string, current string, err error) {
	raw, err := loadKubeconfig(o)
	if err != nil {
		return nil, "", err
	}
	return slices.Sorted(maps.Keys(raw.Contexts)), raw.CurrentContext, nil
}

// RunsPlugin reports whether the user of the selected context authenticates with an exec plugin, or
// of any context if none is selected.
func RunsPlugin(o Options) (bool, error) {
	raw, err := loadKubeconfig(o)
	if err != nil {
		return false, err
	}
	return hasPlugin(raw, o.Context), nil
}

// hasPlugin reports whether the user of a context has an exec plugin, or of any context without a
// name.
func hasPlugin(raw *clientcmdapi.Config, name string) bool {
	for n, c := range raw.Contexts {
		user := raw.AuthInfos[c.AuthInfo]
		if (name == "" || n == name) && user != nil && user.Exec != nil {
			return true
		}
	}
	return false
}

func loadKubeconfig(o Options) (*clientcmdapi.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.WarnIfAllMissing = o.Kubeconfig, false
	raw, err := rules.Load()
	if err != nil {
		return nil, unusableContext(err, "set --kubeconfig or KUBECONFIG to a readable kubeconfig")
	}
	return raw, nil
}

func configOverrides(o Options) *clientcmd.ConfigOverrides {
	return &clientcmd.ConfigOverrides{
		CurrentContext: o.Context,
		Context:        clientcmdapi.Context{Cluster: o.Cluster, AuthInfo: o.User, Namespace: o.Namespace},
		ClusterInfo: clientcmdapi.Cluster{
			Server: o.Server, CertificateAuthority: o.CertificateAuthority,
			InsecureSkipTLSVerify: o.InsecureSkipTLSVerify, TLSServerName: o.TLSServerName,
		},
		AuthInfo: clientcmdapi.AuthInfo{Token: o.Token, Impersonate: o.As, ImpersonateGroups: o.AsGroups},
	}
}

func contextNames(m map[string]*clientcmdapi.Context) string {
	if len(m) == 0 {
		return "the kubeconfig has no contexts"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// unusableContext returns the error for an invalid selection of a cluster.
func unusableContext(err error, fix string) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok && errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s does not exist", p.Path)
	}
	return &cloud.Error{Kind: cloud.Invalid, Op: "k8s", Fix: fix, Err: fmt.Errorf("read the Kubernetes configuration: %w", err)}
}

// Namespace returns the default namespace.
func (c *Client) Namespace() string { return c.namespace }

// Context returns the name of the context, or "".
func (c *Client) Context() string { return c.context }

// Server returns the API server's address.
func (c *Client) Server() string { return c.config.Host }

// Config returns a copy of the configuration with the edge in its transport: all clients created
// with it are gated, logged and retried.
func (c *Client) Config() *rest.Config {
	cfg := rest.CopyConfig(c.config)
	cfg.Wrap(c.edge.wrapTransport)
	return cfg
}

// Clientset returns the typed client.
func (c *Client) Clientset() (kubernetes.Interface, error) {
	cs, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, unusableContext(err, "fix the kubeconfig; see `kubectl config view`")
	}
	return cs, nil
}

// Dynamic returns the client for objects of types that are unknown at compile time.
func (c *Client) Dynamic() (dynamic.Interface, error) {
	d, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return nil, unusableContext(err, "fix the kubeconfig; see `kubectl config view`")
	}
	return d, nil
}

// Objects returns the dynamic client of one resource in a namespace.
func (c *Client) Objects(of schema.GroupVersionResource, namespace string) (dynamic.ResourceInterface, error) {
	d, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	return d.Resource(of).Namespace(namespace), nil
}

// In returns the client with another namespace.
func (c *Client) In(namespace string) *Client {
	out := *c
	out.namespace = namespace
	return &out
}

// Within returns a client whose calls also end with ctx, for libraries that create their own
// context. It records errors in the trail, for libraries that discard them.
func (c *Client) Within(ctx context.Context) (*Client, *Trail) {
	out := *c
	out.edge.until = ctx
	out.edge.trail = new(Trail)
	return &out, out.edge.trail
}
