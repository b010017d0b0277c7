package config

import (
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
)

// Layers are the sources of an experiment's configuration, strongest first.
type Layers struct {
	// Request is the submitted configuration, Template the template that the user selected; each may
	// be nil.
	Request, Template *document.Document
	// Container holds the task container defaults of the cluster or the resource pool.
	Container container.Defaults
	// Workspace and Cluster are the checkpoint storages of the workspace and of the cluster, nil if
	// not configured. References to the cluster's secrets are already resolved.
	Workspace *Storage
	Cluster   *config.CheckpointStorage
	// Priority is the resource pool's default priority, 0 if not configured.
	Priority int
	// Name and Seed apply if the configuration has no name or seed. The caller generates them, so
	// that Complete stays deterministic.
	Name string
	Seed uint32
	// Unmanaged experiments run outside the cluster and need neither an entrypoint nor a storage.
	Unmanaged bool
}

// Complete merges the layers and validates the result. It returns warnings for settings that are
// accepted and have no effect. The error is a document.Errors that lists every problem with its
// position in the request or the template.
func Complete(l Layers) (Experiment, document.Errors, error) {
	request, wrong := readPart(l.Request)
	template, templateWrong, foreign := readTemplate(l.Template)
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
	return x, append(locateProblems(l.Request, nil, ours), locateProblems(l.Template, nil, append(theirs, foreign...))...), problems.Err()
}

// masterPart returns the settings that the master adds below the cluster's storage.
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

// readTemplate reads a template, which may also serve commands. It returns warnings instead of errors
// for the settings that experiments do not have.
func readTemplate(d *document.Document) (x Experiment, wrong, foreign document.Errors) {
	x, problems := readPart(d)
	for _, p := range problems {
		if p.Unknown {
			foreign = append(foreign, document.Problem{File: p.File, Line: p.Line, Path: p.Path, Text: "has no effect on experiments"})
		} else {
			wrong = append(wrong, p)
		}
	}
	if x.Resources.Slots != nil {
		x.Resources.Slots = nil
		foreign.Add("resources.slots", "has no effect on experiments, which have slots_per_trial")
	}
	return x, wrong, foreign
}

// divideProblems assigns each problem to the document that contains the setting. A setting that
// neither contains is reported as missing from the request.
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
