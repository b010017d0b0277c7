package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/det-deploy/det-deploy/k8s/helm"
	"github.com/det-deploy/det-deploy/k8s/kube"
)

func (w Wanted) checkQuota(ctx context.Context) Result {
	quotas, limits, unknown := w.limitsOf(ctx, w.Namespace)
	if unknown != nil {
		return *unknown
	}
	takes, err := sumObjects(w.Objects)
	if err != nil {
		return Result{Answer: Unknown, Found: err.Error()}
	}
	if w.Installed {
		takes.sum = nil // already counted as used
	}
	return judgeLimits(takes, quotas, limits, w.Namespace)
}

// limitsOf returns the quotas and limit ranges of a namespace. If they cannot be listed, it returns
// a Result.
func (w Wanted) limitsOf(ctx context.Context, namespace string) ([]corev1.ResourceQuota, []corev1.LimitRange, *Result) {
	quotas, err := w.Client.CoreV1().ResourceQuotas(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, new(unknownResult(kube.Call{Verb: "list", Resource: "resourcequotas", Namespace: namespace}, err))
	}
	limits, err := w.Client.CoreV1().LimitRanges(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, nil, new(unknownResult(kube.Call{Verb: "list", Resource: "limitranges", Namespace: namespace}, err))
	}
	return quotas.Items, limits.Items, nil
}

// consumption is the resource usage of the chart in a namespace.
type consumption struct {
	// sum is keyed by the names in quotas: "requests.cpu", "pods", "services.loadbalancers".
	sum corev1.ResourceList
	// containers and claims are for checks of individual requests and limits.
	containers []corev1.Container
	claims     []corev1.PersistentVolumeClaim
}

func sumObjects(objects []helm.Object) (consumption, error) {
	c := consumption{sum: make(corev1.ResourceList)}
	for _, o := range objects {
		if err := c.addObject(o); err != nil {
			return consumption{}, fmt.Errorf("read %s: %w", o, err)
		}
	}
	return c, nil
}

func (c *consumption) addObject(o helm.Object) error {
	switch o.Kind {
	case "Deployment":
		var d appsv1.Deployment
		if err := yaml.Unmarshal([]byte(o.YAML), &d); err != nil {
			return err
		}
		n := int64(1)
		if d.Spec.Replicas != nil {
			n = int64(*d.Spec.Replicas)
		}
		c.addPods(d.Spec.Template.Spec, n)
	case "PersistentVolumeClaim":
		var p corev1.PersistentVolumeClaim
		if err := yaml.Unmarshal([]byte(o.YAML), &p); err != nil {
			return err
		}
		c.claims = append(c.claims, p)
		c.addCount("persistentvolumeclaims", 1)
		c.addQuantity("requests.storage", p.Spec.Resources.Requests[corev1.ResourceStorage], 1)
	case "Service":
		c.addCount("services", 1)
		if loadBalancer(o) {
			c.addCount("services.loadbalancers", 1)
			c.addCount("services.nodeports", 1)
		}
	case "Secret":
		c.addCount("secrets", 1)
	case "ConfigMap":
		c.addCount("configmaps", 1)
	}
	return nil
}

func (c *consumption) addPods(s corev1.PodSpec, n int64) {
	c.addCount("pods", n)
	c.containers = append(c.containers, s.InitContainers...)
	c.containers = append(c.containers, s.Containers...)
	for name, q := range podRequests(s, func(k corev1.Container) corev1.ResourceList { return k.Resources.Requests }) {
		c.addQuantity("requests."+name, q, n)
		c.addQuantity(name, q, n) // a quota may use "cpu" for "requests.cpu"
	}
	for name, q := range podRequests(s, func(k corev1.Container) corev1.ResourceList { return k.Resources.Limits }) {
		c.addQuantity("limits."+name, q, n)
	}
}

// podRequests returns the requests of a pod: the sum of its containers, or the request of an init
// container if that is larger.
func podRequests(s corev1.PodSpec, of func(corev1.Container) corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, k := range s.Containers {
		for name, q := range of(k) {
			sum := out[name]
			sum.Add(q)
			out[name] = sum
		}
	}
	for _, k := range s.InitContainers {
		for name, q := range of(k) {
			if have := out[name]; have.Cmp(q) < 0 {
				out[name] = q
			}
		}
	}
	return out
}

func (c *consumption) addCount(name corev1.ResourceName, n int64) {
	c.addQuantity(name, *resource.NewQuantity(1, resource.DecimalSI), n)
}

func (c *consumption) addQuantity(name corev1.ResourceName, q resource.Quantity, n int64) {
	sum := c.sum[name]
	for range n {
		sum.Add(q)
	}
	c.sum[name] = sum
}

// judgeLimits compares the usage with quotas and limit ranges. It makes no calls.
func judgeLimits(c consumption, quotas []corev1.ResourceQuota, limits []corev1.LimitRange, namespace string) Result {
	silent, over := silentOn(c, quotas, limits), slices.Concat(overQuotas(c, quotas), overLimits(c, limits))
	var fixes []string
	if len(silent) > 0 {
		fixes = append(fixes, "set masterCpuLimit, masterMemLimit, db.cpuLimit, db.memLimit and so on, which also apply to the init containers of the master and the database")
	}
	if len(over) > 0 {
		fixes = append(fixes, fmt.Sprintf("raise the limits of namespace %s (see `kubectl describe quota,limitrange -n %s`), or reduce the requests in the values", namespace, namespace))
	}
	if len(fixes) > 0 {
		found := slices.Concat(silent, over)
		slices.Sort(found)
		return Result{
			Answer: Fail, Found: strings.Join(slices.Compact(found), "; "), Needed: "room for the master and its database",
			Fix: strings.Join(fixes, "; "),
		}
	}
	if len(quotas)+len(limits) == 0 {
		return passResult("there is none")
	}
	return passResult("the master fits; tasks share the rest")
}

// isScoped reports whether a quota applies only to some pods, which do not include the master's.
func isScoped(q corev1.ResourceQuota) bool {
	return len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil
}

// silentOn returns an error text for each quota that requires a request or limit which a container
// lacks.
func silentOn(c consumption, quotas []corev1.ResourceQuota, limits []corev1.LimitRange) []string {
	var out []string
	for _, q := range quotas {
		if isScoped(q) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			if missing := missingRequest(c, name, limits); missing != "" {
				out = append(out, fmt.Sprintf("quota %s requires %s of every container, and %s does not set it", q.Name, name, missing))
			}
		}
	}
	return out
}

func overQuotas(c consumption, quotas []corev1.ResourceQuota) []string {
	var out []string
	for _, q := range quotas {
		if isScoped(q) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(q.Status.Hard)) {
			hard, used := q.Status.Hard[name], q.Status.Used[name]
			free := hard.DeepCopy()
			free.Sub(used)
			want := c.sum[name]
			if free.Cmp(want) < 0 {
				out = append(out, fmt.Sprintf("quota %s has %s of %s left, and %s is required", q.Name, free.String(), name, want.String()))
			}
		}
	}
	return out
}

// missingRequest returns a container without a request or limit that a quota requires. Kubernetes
// rejects its pod unless a LimitRange sets a default.
func missingRequest(c consumption, name corev1.ResourceName, limits []corev1.LimitRange) string {
	kind, resource, found := strings.Cut(string(name), ".")
	if !found && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
		kind, resource, found = "requests", string(name), true
	}
	compute := resource == string(corev1.ResourceCPU) || resource == string(corev1.ResourceMemory)
	if !found || !compute || (kind != "requests" && kind != "limits") || hasDefault(limits, kind, corev1.ResourceName(resource)) {
		return ""
	}
	for _, k := range c.containers {
		list := k.Resources.Requests
		if kind == "limits" {
			list = k.Resources.Limits
		}
		_, stated := list[corev1.ResourceName(resource)]
		_, limited := k.Resources.Limits[corev1.ResourceName(resource)] // a limit implies a request
		if !stated && !limited {
			return "container " + k.Name
		}
	}
	return ""
}

// hasDefault reports whether a LimitRange sets a default for containers. A default limit implies a
// request.
func hasDefault(limits []corev1.LimitRange, kind string, name corev1.ResourceName) bool {
	for _, l := range limits {
		for _, item := range l.Spec.Limits {
			_, limit := item.Default[name]
			_, request := item.DefaultRequest[name]
			if item.Type == corev1.LimitTypeContainer && (limit || request && kind == "requests") {
				return true
			}
		}
	}
	return false
}

func overLimits(c consumption, limits []corev1.LimitRange) []string {
	var out []string
	for _, l := range limits {
		for _, item := range l.Spec.Limits {
			for _, name := range slices.Sorted(maps.Keys(item.Max)) {
				most := item.Max[name]
				out = append(out, aboveLimit(c, l.Name, item.Type, name, most)...)
			}
		}
	}
	return out
}

func aboveLimit(c consumption, rule string, kind corev1.LimitType, name corev1.ResourceName, most resource.Quantity) []string {
	var out []string
	if kind == corev1.LimitTypeContainer {
		for _, k := range c.containers {
			for _, list := range []corev1.ResourceList{k.Resources.Requests, k.Resources.Limits} {
				if q, asked := list[name]; asked && q.Cmp(most) > 0 {
					out = append(out, fmt.Sprintf("limit range %s permits %s of %s per container, and %s requests %s", rule, most.String(), name, k.Name, q.String()))
				}
			}
		}
	}
	if kind == corev1.LimitTypePersistentVolumeClaim {
		for _, p := range c.claims {
			if q := p.Spec.Resources.Requests[name]; q.Cmp(most) > 0 {
				out = append(out, fmt.Sprintf("limit range %s permits %s of %s per claim, and %s requests %s", rule, most.String(), name, p.Name, q.String()))
			}
		}
	}
	return out
}
