package k8s

import (
	"context"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	target "github.com/det-deploy/det-deploy/installer/target/k8s"
)

// installResult is the JSON form of the answer.
type installResult struct {
	Schema    string `json:"schema"`
	Cluster   string `json:"cluster"`
	Namespace string `json:"namespace"`
	Context   string `json:"context"`
	// URL is where the master answers from outside; empty while it has no address.
	URL string `json:"url"`
	// Service and Forward are how it is reached without one.
	Service string `json:"service"`
	Forward string `json:"forward"`
	User    string `json:"user"`
	// LoggedIn is false when the master was not waited for, is not reached from here,
	// or when the first password was changed.
	LoggedIn bool `json:"logged_in"`
}

// finish remembers the cluster and says how to use it.
func (o *installOptions) finish(ctx context.Context, k *wire.K8s) error {
	e, err := k.Target.Endpoint(ctx)
	if err != nil {
		return err
	}
	r := installResult{
		Schema: "det-deploy.k8s-install/v1", Cluster: k.Cluster, Namespace: k.Namespace(), Context: k.Kube.Context(),
		URL: e.URL, Service: e.Service, Forward: kubectl(e.Forward(k.Namespace()), o.Where), User: "admin",
	}
	if r.LoggedIn, err = remember(ctx, o.Streams, k, e, !o.NoWait); err != nil {
		return err
	}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	o.sayHow(r, e, o.flags(k))
	return nil
}

func (o *installOptions) sayHow(r installResult, e target.Endpoint, flags string) {
	state := "is up"
	if o.NoWait {
		state = "stands, and its master will answer"
	}
	if e.URL == "" {
		o.Printf("Cluster %s in namespace %s %s.", r.Cluster, r.Namespace, state)
		o.sayWithout(e, r.Namespace, r.Forward)
	} else {
		o.Printf("Cluster %s in namespace %s %s at %s.", r.Cluster, r.Namespace, state, e.URL)
		o.Printf("")
		o.Printf("  export DET_MASTER=%s", e.URL)
	}
	o.Printf("")
	if r.LoggedIn {
		o.Printf("You are logged in as %s; `det-deploy k8s credentials %s` shows the password. Next:", r.User, flags)
		o.Printf("")
		o.Printf("  det-deploy task run -- echo hello")
		return
	}
	o.Printf("`det-deploy k8s credentials %s` shows the first password of %s. Next:", flags, r.User)
	o.Printf("")
	if o.NoWait {
		o.Printf("  det-deploy k8s status %s", flags)
		return
	}
	o.Printf("  det-deploy login %s", r.User)
}

// sayWithout is how to reach a master that has no address outside of Kubernetes.
func (o *installOptions) sayWithout(e target.Endpoint, namespace, forward string) {
	if e.Kind == "LoadBalancer" {
		o.Printf("Its load balancer has no address yet; `%s` shows when it has.",
			kubectl("kubectl -n "+namespace+" get service "+e.Service+" --watch", o.Where))
		o.Printf("Until then, and where there are no load balancers, this brings it here:")
	} else {
		o.Printf("It has no address outside of Kubernetes. This brings it here:")
	}
	o.Printf("")
	o.Printf("  %s", forward)
	o.Printf("  export DET_MASTER=%s", e.Forwarded())
}
