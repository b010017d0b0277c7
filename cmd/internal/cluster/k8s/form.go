package k8s

import (
	"context"
	"errors"
	"reflect"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
)

// The keys of the form's pages. The key of a value is its path.
const (
	pageContext   = "context"
	pageNamespace = "namespace"
	pageRegistry  = "imageRegistry"
	pageSlotType  = "slotType"
	pageCPUs      = "slotResourceRequests.cpu"
	pageSlots     = "maxSlotsPerPod"
)

// completion asks for the settings of a new cluster that no flag or file gives. Every answer has an
// equivalent flag, and the form ends by printing the equivalent command.
type completion struct {
	*term.Streams

	w     *wanted
	given *k8swire.Values
	// said reports whether the user gave a value.
	said func(path string) bool
	// advice describes the Kubernetes cluster of the context and cluster ID in advised.
	advice  k8swire.Advice
	advised *string
	// unreached is the error of fetching advice.
	unreached error
	asked     bool
}

// completeSettings asks for missing settings if ask is true.
func (w *wanted) completeSettings(ctx context.Context, s *term.Streams, given *k8swire.Values, ask bool) error {
	if w.Cluster != "" || !ask {
		if err := w.Which.validate(); err != nil || !ask {
			return err
		}
	}
	values, err := k8swire.MergeValues(*given)
	if err != nil {
		return err
	}
	c := &completion{Streams: s, w: w, given: given}
	c.said = func(path string) bool { _, found := values.Get(path); return found }
	answers, err := s.FillForm(ctx, c.buildForm())
	if err != nil {
		return err
	}
	c.applyAnswers(answers)
	return nil
}

func (c *completion) buildForm() term.Form {
	return term.Form{
		Title: "Create a cluster on Kubernetes", Summary: c.summarizeAnswers, Lines: c.w.Verbose || k8swire.RunsPlugin(c.w.kubeAt(c.Streams)),
		Pages: []term.Page{
			{Key: cluster.IDPage, Field: c.askCluster},
			{Key: pageContext, Field: c.askContext},
			{Key: pageNamespace, Field: c.askNamespace},
			{Key: pageRegistry, Field: c.unlessSaid(pageRegistry, c.askRegistry)},
			{Key: pageSlotType, Field: c.unlessSaid(pageSlotType, c.askSlotType)},
			{Key: pageCPUs, Field: c.unlessSaid(pageSlotType, c.askCPUs)},
			{Key: pageSlots, Field: c.unlessSaid(pageSlots, c.askSlots)},
		},
	}
}

// unlessSaid skips a question if the user gave the value, or if the cluster has a release, which holds the
// other values.
func (c *completion) unlessSaid(path string, ask cluster.Ask) cluster.Ask {
	return func(ctx context.Context, a term.Answers) (*term.Field, error) {
		if err := c.adviseFields(ctx, a); err != nil {
			return nil, err
		}
		if c.advice.Known || c.said(path) {
			return nil, nil
		}
		return ask(ctx, a)
	}
}

// chosenPlace returns the Kubernetes cluster that the flags and answers select.
func (c *completion) chosenPlace(a term.Answers) k8swire.At {
	at := c.w.kubeAt(c.Streams)
	if answer, ok := a.Get(pageContext); ok {
		at.Context = answer
	}
	return at
}

func (c *completion) clusterID(a term.Answers) string {
	return cluster.AnsweredID(c.w.Cluster, a)
}

// adviseFields fetches the advice, once per context and cluster ID.
func (c *completion) adviseFields(ctx context.Context, a term.Answers) error {
	key := c.chosenPlace(a).Context + " " + c.clusterID(a)
	if c.advised == nil || *c.advised != key {
		c.advice, c.unreached = k8swire.Advise(ctx, c.chosenPlace(a), c.clusterID(a))
		c.advised = &key
	}
	return c.unreached
}

// applyAnswers stores the answers as if their flags had been given.
func (c *completion) applyAnswers(a term.Answers) {
	c.asked = len(a) > 0
	c.w.Cluster = c.clusterID(a)
	if answer, ok := a.Get(pageContext); ok {
		c.w.Context = answer
	}
	if c.advice.Known {
		return
	}
	if ns, ok := a.Get(pageNamespace); ok && ns != c.advice.Namespace {
		c.w.Namespace, c.w.CreateNamespace = ns, true
	}
	if c.advice.GPUs > 0 && c.advice.SlotType != "gpu" && !c.said(pageSlotType) {
		c.setFlag(pageSlotType, c.advice.SlotType)
	}
	for _, one := range a {
		switch one.Key {
		case pageRegistry, pageSlotType, pageCPUs, pageSlots:
			c.setFlag(one.Key, one.Value)
		}
	}
	c.printEquivalent()
}

// setFlag stores an answer as if its flag had been given.
func (c *completion) setFlag(path, value string) {
	c.given.Set = append(c.given.Set, path+"="+value)
	c.asked = true
}

// listContexts lists the contexts to choose from. It lists none if a context is given, or if the current
// one has the cluster.
func (c *completion) listContexts() (all []string, current string, err error) {
	if c.advice.Known || c.w.kubeAt(c.Streams).Context != "" {
		return nil, "", c.unreached
	}
	all, current, err = k8swire.Contexts(c.w.kubeAt(c.Streams))
	if err != nil || len(all) < 2 {
		return nil, "", errors.Join(c.unreached, err)
	}
	return all, current, nil
}

// printEquivalent prints the equivalent command line.
func (c *completion) printEquivalent() {
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
		if hidesValue(v) {
			hidden = true // answers are never secret, but a given value may be
			continue
		}
		line += " --set " + v
	}
	var more []string
	if hidden || len(c.given.SetString)+len(c.given.SetFile)+len(c.given.SetJSON) > 0 {
		more = append(more, "and the other values given")
	}
	cluster.PrintEquivalent(c.Streams, line, more...)
}

// hidesValue reports whether a --set argument contains a secret.
func hidesValue(set string) bool {
	said, err := k8swire.MergeValues(k8swire.Values{Set: []string{set}})
	return err != nil || !reflect.DeepEqual(said.Shown(), said)
}
