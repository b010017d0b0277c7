package config

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// Layers is where an experiment's configuration comes from, the first of them strongest.
type Layers struct {
	// Request is what the user submits, Template what the user names beside it; nil is none.
	Request, Template *document.Document
	// Container is what the cluster or the pool gives to every task.
	Container container.Defaults
	// Workspace and Cluster are where checkpoints are kept, nil for nothing said; references to
	// secrets of the cluster's are resolved.
	Workspace *Storage
	Cluster   *config.CheckpointStorage
	// Priority is the pool's, 0 for none.
	Priority int
	// Name and Seed are for an experiment that has none: random comes in.
	Name string
	Seed uint32
	// Unmanaged experiments run elsewhere: they need neither an entrypoint nor a storage.
	Unmanaged bool
}

// Complete merges and checks. The error is document.Errors with every complaint, each at its place
// in the request or the template; warnings say what is accepted and has no effect.
func Complete(l Layers) (Experiment, document.Errors, error) {
	request, wrong := readPart(l.Request)
	template, templateWrong := readPart(l.Template)
	x := request.Merge(template).Merge(containerPart(l.Container))
	if l.Workspace != nil {
		x = x.Merge(Experiment{CheckpointStorage: *l.Workspace})
	}
	if l.Cluster != nil {
		x = x.Merge(Experiment{CheckpointStorage: StorageOf(*l.Cluster)})
	}
	x = x.Merge(l.masterPart()).Merge(Default()).completeKinds()
	ours, theirs := l.divideProblems(x.validate(l.Unmanaged))
	problems := append(locateProblems(l.Request, wrong, ours), locateProblems(l.Template, templateWrong, theirs)...)
	warnings := x.listWarnings(l.wasGiven)
	ours, theirs = l.divideProblems(warnings)
	return x, append(locateProblems(l.Request, nil, ours), locateProblems(l.Template, nil, theirs)...), problems.Err()
}

// masterPart is what the master adds after the cluster's storage.
func (l Layers) masterPart() Experiment {
	seed := int64(l.Seed)
	x := Experiment{Name: nonEmpty(l.Name), Reproducibility: Reproducibility{ExperimentSeed: &seed}}
	if l.Priority > 0 {
		x.Resources.Priority = &l.Priority
	}
	return x
}

func readPart(d *document.Document) (Experiment, document.Errors) {
	var x Experiment
	if d == nil {
		return x, nil
	}
	problems := d.Decode(&x)
	return x, problems
}

// divideProblems gives each complaint to the document that has its setting; what neither has is missing
// from the request.
func (l Layers) divideProblems(problems document.Errors) (request, template document.Errors) {
	for _, p := range problems {
		inRequest := l.Request != nil && l.Request.Given(p.Path)
		if !inRequest && l.Template != nil && l.Template.Given(p.Path) {
			template = append(template, p)
		} else {
			request = append(request, p)
		}
	}
	return request, template
}

func (l Layers) wasGiven(path string) bool {
	return l.Request != nil && l.Request.Given(path) || l.Template != nil && l.Template.Given(path)
}

func locateProblems(d *document.Document, unread, rules document.Errors) document.Errors {
	if d == nil {
		return rules
	}
	return d.Blame(unread, rules)
}
