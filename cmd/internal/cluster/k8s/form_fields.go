package k8s

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
)

func (c *completion) askCluster(context.Context, term.Answers) (*term.Field, error) {
	return cluster.AskID(c.w.Cluster, "The name of the cluster and of its Helm release."), nil
}

// askContext asks for the context if there are several and the current one does not have the cluster.
func (c *completion) askContext(ctx context.Context, a term.Answers) (*term.Field, error) {
	_ = c.adviseFields(ctx, a) // an unreachable cluster is no error here: the user may choose another context
	all, current, err := c.listContexts()
	if all == nil {
		return nil, err
	}
	f := contextField(all, current)
	return &f, nil
}

func contextField(all []string, current string) term.Field {
	f := term.Field{
		Label: "Context", Flag: "--kube-context", Default: current, Help: "The context of the kubeconfig in which to run the cluster.",
		Check: func(_ context.Context, a string) error { return oneOf(a, all...) },
	}
	for _, name := range all {
		about := ""
		if name == current {
			about = "current context"
		}
		f.Choices = append(f.Choices, term.Choice{Value: name, About: about})
	}
	return f
}

// askNamespace asks for the namespace if the kubeconfig selects only "default".
func (c *completion) askNamespace(ctx context.Context, a term.Answers) (*term.Field, error) {
	if err := c.adviseFields(ctx, a); err != nil {
		return nil, err
	}
	if c.advice.Known || c.w.kubeAt(c.Streams).Namespace != "" || c.advice.Namespace != "default" {
		return nil, nil
	}
	return &term.Field{
		Label: "Namespace", Flag: "--namespace", Default: c.advice.Namespace,
		Help: "The namespace of the cluster in the Kubernetes cluster of context " + c.advice.Context + ". It is created if it does not exist.",
	}, nil
}

// askRegistry has no default because the location of the user's images cannot be inferred.
func (c *completion) askRegistry(context.Context, term.Answers) (*term.Field, error) {
	return &term.Field{
		Label: "Image registry", Flag: "--set imageRegistry=…",
		Help: "The registry and path from which nodes pull the det-deploy image. Push it with `det-deploy k8s image push`.",
		Check: func(_ context.Context, a string) error {
			if a == "" || strings.ContainsAny(a, " ,=") {
				return errors.New("must have the form registry.example.com/team")
			}
			return nil
		},
	}, nil
}

// askSlotType asks for the slot type if no node has GPUs.
func (c *completion) askSlotType(context.Context, term.Answers) (*term.Field, error) {
	if c.advice.GPUs > 0 {
		return nil, nil
	}
	return &term.Field{
		Label: "Slots", Flag: "--set slotType=…", Default: "cpu",
		Help:    fmt.Sprintf("None of the %d nodes has GPUs. The slot type determines the unit of resources of tasks.", c.advice.Nodes),
		Choices: []term.Choice{{Value: "cpu", About: "CPUs of a node"}, {Value: "gpu", About: "GPUs, of nodes that are added later"}, {Value: "rocm", About: "AMD GPUs, of nodes that are added later"}},
		Check:   func(_ context.Context, a string) error { return oneOf(a, "cpu", "gpu", "rocm") },
	}, nil
}

// askCPUs asks for the number of CPUs per slot.
func (c *completion) askCPUs(_ context.Context, a term.Answers) (*term.Field, error) {
	if answer, _ := a.Get(pageSlotType); answer != "cpu" {
		return nil, nil
	}
	return &term.Field{
		Label: "CPUs per slot", Flag: "--set slotResourceRequests.cpu=…", Default: strconv.Itoa(max(c.advice.CPUs, 1)),
		Help:  "Less than the CPUs of a node, because the system uses some.",
		Check: func(_ context.Context, a string) error { return cluster.CheckCount(a) },
	}, nil
}

// askSlots suggests a number of slots that divides those of every node.
func (c *completion) askSlots(_ context.Context, a term.Answers) (*term.Field, error) {
	f := &term.Field{
		Label: "Slots per pod", Flag: "--set maxSlotsPerPod=…",
		Help:  "The slots of one node or, if nodes differ, their greatest common divisor. Larger tasks get several pods.",
		Check: func(_ context.Context, a string) error { return cluster.CheckCount(a) },
	}
	switch answer, _ := a.Get(pageSlotType); {
	case answer == "cpu":
		f.Default = "1" // a slot takes all free CPUs of a node
	case c.advice.GPUs > 0:
		f.Default = strconv.Itoa(c.advice.GPUs)
	}
	return f, nil
}

// summarizeAnswers returns a summary of the answers. It makes no calls to Kubernetes.
func (c *completion) summarizeAnswers(a term.Answers) []string {
	var out []string
	if id := c.clusterID(a); id != "" {
		line := "Release " + id
		if ns, ok := a.Get(pageNamespace); ok {
			line += " in namespace " + ns
		}
		if at := c.chosenPlace(a).Context; at != "" {
			line += " of context " + at
		}
		out = append(out, line)
	}
	if registry, ok := a.Get(pageRegistry); ok {
		out = append(out, "Image from "+registry)
	}
	return append(out, summarizeSlots(a)...)
}

func summarizeSlots(a term.Answers) []string {
	var parts []string
	if kind, ok := a.Get(pageSlotType); ok {
		parts = append(parts, "a slot is a "+strings.ToUpper(kind))
	}
	if cpus, ok := a.Get(pageCPUs); ok {
		parts = []string{"a slot has " + cpus + " CPUs"}
	}
	if slots, ok := a.Get(pageSlots); ok {
		parts = append(parts, "a pod has at most "+slots+" of them")
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{"Slots: " + strings.Join(parts, ", ")}
}

func oneOf(answer string, good ...string) error {
	for _, g := range good {
		if answer == g {
			return nil
		}
	}
	return errors.New("must be one of " + strings.Join(good, ", "))
}
