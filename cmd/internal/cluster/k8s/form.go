package k8s

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
)

// completion asks a person for what a new cluster needs and nobody has said. Whatever
// is answered could have been given by a flag, and is shown as such.
type completion struct {
	*term.Streams

	w      *wanted
	given  *wire.K8sValues
	advice wire.K8sAdvice
	asked  bool
}

// complete asks for what is missing, where ask is true.
func (w *wanted) complete(ctx context.Context, s *term.Streams, given *wire.K8sValues, ask bool) error {
	c := &completion{Streams: s, w: w, given: given}
	if w.Cluster == "" && ask {
		if err := c.cluster(ctx); err != nil {
			return err
		}
	}
	if err := w.validate(); err != nil || !ask {
		return err
	}
	if err := c.advise(ctx); err != nil || c.advice.Known {
		return err
	}
	said, err := wire.K8sGiven(*given)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		path string
		ask  func(context.Context) error
	}{
		{"", c.namespace}, {"imageRegistry", c.registry}, {"slotType", c.slotType}, {"maxSlotsPerPod", c.slots},
	} {
		if _, found := said.Get(step.path); found {
			continue
		}
		if err := step.ask(ctx); err != nil {
			return err
		}
	}
	c.echo()
	return nil
}

// advise asks Kubernetes what it knows, and first which one is meant, where there are
// several and the current one does not have the cluster.
func (c *completion) advise(ctx context.Context) error {
	var unreached error
	c.advice, unreached = wire.AdviseK8s(ctx, c.w.at(c.Streams), c.w.Cluster)
	if c.advice.Known || c.w.at(c.Streams).Context != "" {
		return unreached
	}
	all, current, err := wire.K8sContexts(c.w.at(c.Streams))
	if err != nil || len(all) < 2 {
		return errors.Join(unreached, err)
	}
	answer, err := c.Fill(ctx, contextField(all, current))
	if err != nil {
		return err
	}
	c.w.Context, c.asked = answer, true
	if answer != current {
		c.advice, unreached = wire.AdviseK8s(ctx, c.w.at(c.Streams), c.w.Cluster)
	}
	return unreached
}

func contextField(all []string, current string) term.Field {
	f := term.Field{
		Label: "Context", Flag: "--context", Default: current, Help: "Which Kubernetes of the kubeconfig is to have the cluster?",
		Check: func(_ context.Context, a string) error { return oneOf(a, all...) },
	}
	for _, name := range all {
		about := ""
		if name == current {
			about = "the current one"
		}
		f.Choices = append(f.Choices, term.Choice{Value: name, About: about})
	}
	return f
}

func (c *completion) cluster(ctx context.Context) error {
	id, err := c.Fill(ctx, term.Field{
		Label: "Cluster id", Help: "The cluster's name, and its release's: it and the namespace are all that is needed to find it again.",
		Flag:  "--cluster-id",
		Check: func(_ context.Context, id string) error { return (&Which{Cluster: id}).validate() },
	})
	c.w.Cluster, c.asked = id, true
	return err
}

// namespace is asked where the kubeconfig does not say more than "default".
func (c *completion) namespace(ctx context.Context) error {
	if c.w.at(c.Streams).Namespace != "" || c.advice.Namespace != "default" {
		return nil
	}
	ns, err := c.Fill(ctx, term.Field{
		Label: "Namespace", Flag: "--namespace", Default: c.advice.Namespace,
		Help: "Where in the Kubernetes of context " + c.advice.Context + " the cluster goes. One that is not there is made.",
	})
	c.asked = true
	if err == nil && ns != c.advice.Namespace {
		c.w.Namespace, c.w.CreateNamespace = ns, true
	}
	return err
}

// registry has no default: nobody knows where a user's images are.
func (c *completion) registry(ctx context.Context) error {
	answer, err := c.Fill(ctx, term.Field{
		Label: "Image registry", Flag: "--set imageRegistry=…",
		Help: "The registry, and the path below it, from which nodes pull the image of det-deploy. `det-deploy k8s image push` puts it there.",
		Check: func(_ context.Context, a string) error {
			if a == "" || strings.ContainsAny(a, " ,=") {
				return errors.New("must be as in registry.example.com/team")
			}
			return nil
		},
	})
	if err == nil {
		c.set("imageRegistry", answer)
	}
	return err
}

// slotType is asked where no node has GPUs.
func (c *completion) slotType(ctx context.Context) error {
	if c.advice.GPUs > 0 {
		if c.advice.SlotType != "gpu" {
			c.set("slotType", c.advice.SlotType)
		}
		return nil
	}
	answer, err := c.Fill(ctx, term.Field{
		Label: "Slots", Flag: "--set slotType=…", Default: "cpu",
		Help:    fmt.Sprintf("None of %d nodes has GPUs. What is a slot of a task to be?", c.advice.Nodes),
		Choices: []term.Choice{{Value: "cpu", About: "some CPUs of a node"}, {Value: "gpu", About: "a GPU, of nodes that are added later"}, {Value: "rocm", About: "the same, of AMD"}},
		Check:   func(_ context.Context, a string) error { return oneOf(a, "cpu", "gpu", "rocm") },
	})
	if err != nil {
		return err
	}
	c.set("slotType", answer)
	if answer != "cpu" {
		return nil
	}
	c.advice.GPUs = 1 // slots of one node, where a slot takes all that is free of it
	cpus, err := c.Fill(ctx, term.Field{
		Label: "CPUs of a slot", Flag: "--set slotResourceRequests.cpu=…", Default: strconv.Itoa(max(c.advice.CPUs, 1)),
		Help:  "Somewhat less than a node has: the system takes its share.",
		Check: func(_ context.Context, a string) error { return number(a) },
	})
	if err == nil {
		c.set("slotResourceRequests.cpu", cpus)
	}
	return err
}

// slots proposes what divides all nodes.
func (c *completion) slots(ctx context.Context) error {
	f := term.Field{
		Label: "Slots per pod", Flag: "--set maxSlotsPerPod=…",
		Help:  "The slots of one node, or the greatest common divisor of all nodes' when they differ: a larger task gets several pods.",
		Check: func(_ context.Context, a string) error { return number(a) },
	}
	if c.advice.GPUs > 0 {
		f.Default = strconv.Itoa(c.advice.GPUs)
	}
	answer, err := c.Fill(ctx, f)
	if err == nil {
		c.set("maxSlotsPerPod", answer)
	}
	return err
}

// set keeps an answer as if its flag had been given.
func (c *completion) set(path, value string) {
	c.given.Set = append(c.given.Set, path+"="+value)
	c.asked = true
}

// echo shows the command line that says the same.
func (c *completion) echo() {
	if !c.asked {
		return
	}
	line := "det-deploy k8s install --cluster-id " + c.w.Cluster
	for _, f := range [][2]string{{"kubeconfig", c.w.Kubeconfig}, {"context", c.w.Context}, {"namespace", c.w.Namespace}} {
		if f[1] != "" {
			line += " --" + f[0] + " " + f[1]
		}
	}
	if c.w.CreateNamespace {
		line += " --create-namespace"
	}
	for _, f := range c.given.Files {
		line += " --values " + f
	}
	hidden := false
	for _, v := range c.given.Set {
		if hides(v) {
			hidden = true // an answer is no secret; what was typed before may be
			continue
		}
		line += " --set " + v
	}
	c.Notef("")
	c.Notef("Equivalent command:")
	c.Notef("")
	c.Notef("  %s", line)
	if hidden || len(c.given.SetString)+len(c.given.SetFile)+len(c.given.SetJSON) > 0 {
		c.Notef("  with the other values that you gave")
	}
	c.Notef("")
}

// hides reports whether a --set holds what is not to be shown.
func hides(set string) bool {
	said, err := wire.K8sGiven(wire.K8sValues{Set: []string{set}})
	return err != nil || !reflect.DeepEqual(said.Shown(), said)
}

func oneOf(answer string, good ...string) error {
	for _, g := range good {
		if answer == g {
			return nil
		}
	}
	return errors.New("must be one of " + strings.Join(good, ", "))
}

func number(answer string) error {
	if n, err := strconv.Atoi(answer); err != nil || n < 1 {
		return errors.New("must be a number, 1 or more")
	}
	return nil
}
