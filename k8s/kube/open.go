// Package kube opens the Kubernetes cluster that the user selects, as kubectl
// would, and wraps every call: calls that are not allowed are stopped, safe calls
// are retried, and refusals are explained. No other package makes clients of
// Kubernetes.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// Options says which cluster is meant, in the words of kubectl's flags, and what
// stands before the calls. What is left empty is as kubectl has it: KUBECONFIG,
// then ~/.kube/config and its current context, then the pod's own account.
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
	// As and AsGroups are --as and --as-group, whom to impersonate.
	As       string
	AsGroups []string
	// RequestTimeout is --request-timeout; zero means AnswerLimit, and no limit
	// for what is followed.
	RequestTimeout time.Duration

	// InCluster leaves every kubeconfig alone and uses the pod's own account.
	InCluster bool

	// UserAgent names the program to the API server: "det-deploy/1.2.3".
	UserAgent string
	// Gate is asked before every call that changes something. Nil lets all pass.
	Gate *resource.Gate
	// Log gets one line a call at debug level. Nil is silence.
	Log *slog.Logger
}

// API is the calls of a cluster by the kinds of its objects. It has a name of its own
// so that client-go stays here.
type API = kubernetes.Interface

// Client is one cluster, one user and one namespace. Its methods give clients
// that all go through the same edge.
type Client struct {
	config    *rest.Config // without the edge
	namespace string
	context   string
	loader    clientcmd.ClientConfig
	edge      edge
}

// Open reads the kubeconfig, or the pod's account, and makes no call.
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
	// The API server shares itself out fairly and says 429 when it is too much;
	// client-go's own brake, five calls a second, would only make everything late.
	c.config.QPS = -1
	c.config.UserAgent = cmp.Or(o.UserAgent, "det-deploy")
	c.config.WarningHandlerWithContext = warnings{c.edge.log}
	return c, nil
}

func (c *Client) fromPod(o Options) error {
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return unusableContext(err, "run this in a pod, or name a kubeconfig")
	}
	c.config, c.namespace = cfg, cmp.Or(o.Namespace, podNamespace(), "default")
	api := clientcmdapi.NewConfig()
	c.loader = clientcmd.NewDefaultClientConfig(*api, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: c.namespace}})
	return nil
}

// podNamespace is where the pod that this runs in lives.
func podNamespace() string {
	b, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return "" // an account without a file of its own
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
		return unusableContext(err, "name a readable kubeconfig with --kubeconfig or KUBECONFIG")
	}
	c.context = cmp.Or(o.Context, raw.CurrentContext)
	if _, found := raw.Contexts[c.context]; o.Context != "" && !found {
		return unusableContext(fmt.Errorf("there is no context %q", o.Context), "choose one that exists with --context: "+contextNames(raw.Contexts))
	}
	cfg, err := c.loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return unusableContext(errors.New("no cluster is chosen"), "name a kubeconfig with --kubeconfig or KUBECONFIG, and a context with --context")
	}
	if err != nil {
		return unusableContext(err, "mend the kubeconfig; `kubectl config view` shows it")
	}
	cfg.Timeout = o.RequestTimeout
	ns, _, err := c.loader.Namespace()
	if err != nil {
		return unusableContext(err, "name a namespace with --namespace")
	}
	c.config, c.namespace = cfg, ns
	return nil
}

// Contexts lists the contexts of the kubeconfig that o leads to, sorted, and the one that
// is current when the user names no other. None is no error.
func Contexts(o Options) (all []string, current string, err error) {
	raw, err := loadKubeconfig(o)
	if err != nil {
		return nil, "", err
	}
	return slices.Sorted(maps.Keys(raw.Contexts)), raw.CurrentContext, nil
}

// RunsPlugin reports whether the user of the context that o names, or of any where it names
// none, logs in with an exec plugin.
func RunsPlugin(o Options) (bool, error) {
	raw, err := loadKubeconfig(o)
	if err != nil {
		return false, err
	}
	return hasPlugin(raw, o.Context), nil
}

// hasPlugin reports whether the user of a context has an exec plugin; without a name, that
// of any context.
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
		return nil, unusableContext(err, "name a readable kubeconfig with --kubeconfig or KUBECONFIG")
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
		return "the kubeconfig has none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}

// unusableContext is the error for a choice of cluster that does not exist.
func unusableContext(err error, fix string) error {
	return &cloud.Error{Kind: cloud.Invalid, Op: "k8s", Fix: fix, Err: fmt.Errorf("read the Kubernetes configuration: %w", err)}
}

// Namespace is where things go that do not say it themselves.
func (c *Client) Namespace() string { return c.namespace }

// Context is the kubeconfig's name for this cluster and user, or empty.
func (c *Client) Context() string { return c.context }

// Server is the API server's address.
func (c *Client) Server() string { return c.config.Host }

// Config is a copy of the configuration, with the edge in its transport: any
// client made of it is gated, logged and repeated by rule.
func (c *Client) Config() *rest.Config {
	cfg := rest.CopyConfig(c.config)
	cfg.Wrap(c.edge.wrapTransport)
	return cfg
}

// Clientset is the typed client.
func (c *Client) Clientset() (kubernetes.Interface, error) {
	cs, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil, unusableContext(err, "mend the kubeconfig; `kubectl config view` shows it")
	}
	return cs, nil
}

// Dynamic is the client of objects whose types are known only to the server.
func (c *Client) Dynamic() (dynamic.Interface, error) {
	d, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return nil, unusableContext(err, "mend the kubeconfig; `kubectl config view` shows it")
	}
	return d, nil
}

// Objects is the client of one such kind in a namespace.
func (c *Client) Objects(of schema.GroupVersionResource, namespace string) (dynamic.ResourceInterface, error) {
	d, err := c.Dynamic()
	if err != nil {
		return nil, err
	}
	return d.Resource(of).Namespace(namespace), nil
}

// In is the same cluster and user with another namespace.
func (c *Client) In(namespace string) *Client {
	out := *c
	out.namespace = namespace
	return &out
}

// Within ties every call of the returned client to ctx as well as to the context
// that the call itself was given, for libraries that make one up, and writes what
// is refused to the trail, for libraries that lose it.
func (c *Client) Within(ctx context.Context) (*Client, *Trail) {
	out := *c
	out.edge.until = ctx
	out.edge.trail = new(Trail)
	return &out, out.edge.trail
}
