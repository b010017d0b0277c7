package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

// need is a permission that the user needs.
type need struct {
	verb, group, resource, namespace, name string
}

// String returns a text like "create deployments.apps in namespace lab".
func (n need) String() string {
	s := n.verb + " " + n.resource
	if n.group != "" {
		s += "." + n.group
	}
	if n.name != "" {
		s += " " + n.name
	}
	if n.namespace == "" {
		return s + " at the cluster scope"
	}
	return s + " in namespace " + n.namespace
}

// listDenied returns the permissions that the user lacks.
func (w Wanted) listDenied(ctx context.Context, needs []need) ([]need, error) {
	var out []need
	for _, n := range needs {
		resource, sub, _ := strings.Cut(n.resource, "/")
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: n.verb, Group: n.group, Resource: resource, Subresource: sub, Namespace: n.namespace, Name: n.name,
			},
		}}
		got, err := w.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		if !got.Status.Allowed {
			out = append(out, n)
		}
	}
	return out, nil
}

// clusterScoped returns the kinds that are not namespaced.
func clusterScoped() []string {
	return []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "PriorityClass", "StorageClass", "VolumeSnapshotClass", "CustomResourceDefinition"}
}

// pluralOf returns the resource name of a kind, as used in a Role.
func pluralOf(kind string) string {
	s := strings.ToLower(kind)
	switch {
	case strings.HasSuffix(s, "s"):
		return s + "es"
	case strings.HasSuffix(s, "y"):
		return strings.TrimSuffix(s, "y") + "ies"
	}
	return s + "s"
}

// installNeeds returns the permissions required to install: all verbs used on the kinds of the
// chart, and on the Secrets of the release.
func installNeeds(objects []helm.Object, namespace string) []need {
	var out []need
	seen := make(map[need]bool)
	add := func(group, resource, namespace string, verbs ...string) {
		for _, v := range verbs {
			n := need{verb: v, group: group, resource: resource, namespace: namespace}
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	// Helm's and det-deploy's records are Secrets.
	add("", "secrets", namespace, "get", "list", "create", "update", "patch", "delete")
	for _, o := range objects {
		group, _, found := strings.Cut(o.APIVersion, "/")
		if !found {
			group = ""
		}
		where := o.Namespace
		if slices.Contains(clusterScoped(), o.Kind) {
			where = ""
		}
		add(group, pluralOf(o.Kind), where, "get", "create", "patch", "delete")
	}
	return out
}

func (w Wanted) mayInstall(ctx context.Context) Result {
	needs := installNeeds(w.Objects, w.Namespace)
	denied, err := w.listDenied(ctx, needs)
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(denied) == 0 {
		return passResult("all %d permissions granted", len(needs))
	}
	wide, narrow := w.splitDenied(denied)
	switch {
	case len(narrow) == 0:
		r := refuseDenied(wide, "permission to create cluster-scoped objects, or an installation without them", w.leaveOut(wide))
		r.Found = "all permissions granted in namespace " + w.Namespace + "; cluster-wide " + r.Found
		return r
	case len(wide) == 0:
		return refuseDenied(narrow, "the verbs used on each kind of the chart", w.fixAccess(narrow))
	}
	return refuseDenied(denied, "the verbs used on each kind of the chart", w.fixAccess(narrow)+"; "+w.leaveOut(wide))
}

// splitDenied separates permissions denied in the whole cluster, or in the namespace that the chart
// creates, from those denied in another namespace.
func (w Wanted) splitDenied(denied []need) (wide, narrow []need) {
	for _, n := range denied {
		if n.namespace == "" || w.MakesTaskNamespace && n.namespace == w.TaskNamespace {
			wide = append(wide, n)
		} else {
			narrow = append(narrow, n)
		}
	}
	return wide, narrow
}

// leaveOut returns the values that disable the denied objects that are not namespaced.
func (w Wanted) leaveOut(denied []need) string {
	of := func(resources ...string) bool {
		return !slices.ContainsFunc(denied, func(n need) bool { return !slices.Contains(resources, n.resource) })
	}
	switch {
	case of("clusterroles", "clusterrolebindings"):
		return "disable the master's access to nodes with --set rbac.nodes=false,rbac.pods=false"
	case of("priorityclasses"):
		return "use an existing class with --set master.priorityClassName=NAME"
	case !w.MakesTaskNamespace:
		return "omit them with --set createNonNamespacedObjects=false"
	}
	return fmt.Sprintf("omit them with --set createNonNamespacedObjects=false,resourceManager.defaultNamespace=NAMESPACE; set NAMESPACE to another existing namespace for tasks, "+
		"or to %s: tasks then run in the master's namespace, where only the master's checks of pod specs protect its Secrets and volumes", w.Namespace)
}

func (w Wanted) fixAccess(denied []need) string {
	n := denied[0]
	flag, kind := "", "ClusterRole"
	if n.namespace != "" {
		flag, kind = " -n "+n.namespace, "Role"
	}
	resource := n.resource
	if n.group != "" {
		resource += "." + n.group
	}
	return fmt.Sprintf("ask for a %s that grants them; verify with `kubectl auth can-i %s %s%s`", kind, n.verb, resource, flag)
}

// refuseDenied returns a failed result that lists the missing permissions, grouped by resource.
func refuseDenied(denied []need, needed, fix string) Result {
	var order []need
	verbs := make(map[need][]string)
	for _, n := range denied {
		key := n
		key.verb = ""
		if len(verbs[key]) == 0 {
			order = append(order, key)
		}
		verbs[key] = append(verbs[key], n.verb)
	}
	lines := make([]string, len(order))
	for i, key := range order {
		n := key
		n.verb = strings.Join(verbs[key], ", ")
		lines[i] = n.String()
	}
	return Result{Answer: Fail, Found: "missing permission: " + strings.Join(lines, "; "), Needed: needed, Fix: fix}
}

// mayGrant checks whether the user may grant the roles of the chart to the master: Kubernetes
// forbids users to grant permissions that they lack.
func (w Wanted) mayGrant(ctx context.Context) Result {
	needs, err := chartGrants(w.Objects)
	if err != nil {
		return Result{Answer: Unknown, Found: err.Error()}
	}
	if len(needs) == 0 {
		return passResult("the chart creates no roles")
	}
	denied, err := w.listDenied(ctx, needs)
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(denied) == 0 {
		return passResult("all permissions of the roles granted")
	}
	// The verbs escalate and bind permit granting permissions that the user lacks.
	still, err := w.listDenied(ctx, escalateNeeds(denied))
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(still) == 0 {
		return passResult("permission to escalate and bind roles granted")
	}
	fix := "ask for these permissions, or ask an administrator to install"
	for _, resource := range []string{"nodes", "pods"} {
		if slices.ContainsFunc(denied, func(n need) bool { return n.resource == resource && n.namespace == "" }) {
			fix += fmt.Sprintf("; without cluster-wide access to %s, install with --set rbac.%s=false", resource, resource)
		}
	}
	return refuseDenied(denied, "all permissions of the master's roles, because Kubernetes forbids granting permissions that the user lacks", fix)
}

// escalateNeeds returns the escalate and bind permissions that replace the denied ones.
func escalateNeeds(denied []need) []need {
	var out []need
	for _, n := range denied {
		roles := "roles"
		if n.namespace == "" {
			roles = "clusterroles"
		}
		for _, verb := range []string{"escalate", "bind"} {
			e := need{verb: verb, group: rbacv1.GroupName, resource: roles, namespace: n.namespace}
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	return out
}

// chartGrants returns the permissions in the roles of the chart.
func chartGrants(objects []helm.Object) ([]need, error) {
	var out []need
	for _, o := range objects {
		if o.Kind != "Role" && o.Kind != "ClusterRole" {
			continue
		}
		var role struct {
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		if err := yaml.Unmarshal([]byte(o.YAML), &role); err != nil {
			return nil, fmt.Errorf("read %s: %w", o, err)
		}
		where := o.Namespace
		if o.Kind == "ClusterRole" {
			where = ""
		}
		for _, r := range role.Rules {
			out = append(out, grantsOf(r, where)...)
		}
	}
	return out, nil
}

func grantsOf(r rbacv1.PolicyRule, namespace string) []need {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var out []need
	for _, g := range r.APIGroups {
		for _, res := range r.Resources {
			for _, v := range r.Verbs {
				for _, name := range names {
					out = append(out, need{v, g, res, namespace, name})
				}
			}
		}
	}
	return out
}

// mayWatch checks the permissions to diagnose a release that does not become ready. They are not
// required to install it.
func (w Wanted) mayWatch(ctx context.Context) Result {
	needs := []need{
		{verb: "list", group: "apps", resource: "deployments", namespace: w.Namespace},
		{verb: "list", group: "apps", resource: "replicasets", namespace: w.Namespace},
		{verb: "list", group: "batch", resource: "jobs", namespace: w.Namespace},
		{verb: "list", resource: "pods", namespace: w.Namespace},
		{verb: "delete", resource: "pods", namespace: w.Namespace},
		{verb: "list", resource: "persistentvolumeclaims", namespace: w.Namespace},
		{verb: "list", resource: "services", namespace: w.Namespace},
		{verb: "list", resource: "events", namespace: w.Namespace},
		{verb: "get", resource: "pods/log", namespace: w.Namespace},
	}
	return w.askAccess(ctx, needs, "permission to diagnose the release and to remove what tasks leave")
}

// askAccess checks permissions that are not required to install the release.
func (w Wanted) askAccess(ctx context.Context, needs []need, why string) Result {
	denied, err := w.listDenied(ctx, needs)
	if err != nil {
		return unknownResult(kube.Call{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, err)
	}
	if len(denied) == 0 {
		return passResult("all %d permissions granted", len(needs))
	}
	r := refuseDenied(denied, why, w.fixAccess(denied))
	r.Answer = Unknown
	return r
}
