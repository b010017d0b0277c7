package kube

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Getter returns the client in the form that Helm and kubectl's libraries use. It caches the
// discovery.
func (c *Client) Getter() (genericclioptions.RESTClientGetter, error) {
	dc, err := discovery.NewDiscoveryClientForConfig(c.Config())
	if err != nil {
		return nil, unusableContext(err, "fix the kubeconfig; see `kubectl config view`")
	}
	return &getter{client: c, found: memory.NewMemCacheClient(dc)}, nil
}

type getter struct {
	client *Client
	found  discovery.CachedDiscoveryInterface
}

var _ genericclioptions.RESTClientGetter = (*getter)(nil)

func (g *getter) ToRESTConfig() (*rest.Config, error) { return g.client.Config(), nil }

func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return g.found, nil }

func (g *getter) ToRESTMapper() (meta.RESTMapper, error) {
	return restmapper.NewDeferredDiscoveryRESTMapper(g.found), nil
}

func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return &inNamespace{g.client.loader, g.client.namespace}
}

// inNamespace overrides the namespace of a kubeconfig with the client's.
type inNamespace struct {
	loader
	namespace string
}

// loader is an alias, because an embedded field named ClientConfig would hide the method of that
// name.
type loader = clientcmd.ClientConfig

func (n *inNamespace) Namespace() (string, bool, error) { return n.namespace, true, nil }
