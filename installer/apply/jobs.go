package apply

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/resource"
	"github.com/det-deploy/det-deploy/installer/plan"
)

// job is a step, or one of the two halves of a replacement.
type job struct {
	node plan.Node
	verb plan.Verb
	step plan.Step
}

// isNamed reports whether the job creates a resource with a fixed name. Such a resource can be
// found without the record if the command is interrupted.
func (j job) isNamed() bool {
	_, nonced := j.step.Resource.(resource.Nonced)
	return j.verb == plan.Create && j.step.Verb == plan.Create && !nonced
}

// jobsOf splits p into jobs. A replacement becomes a deletion and a creation. Resources are
// created after those that they need, and deleted before them:
//
//	delete vm ──▶ delete net ──▶ create net ──▶ create vm
func jobsOf(p plan.Plan) []job {
	active := make(map[string]bool)
	for _, s := range p.Steps {
		active[s.ID] = s.Verb.Changes()
	}
	var deletes, others []job
	at := make(map[string]int) // replaced ID → index in deletes
	for _, s := range slices.Backward(p.Steps) {
		if s.Verb != plan.Replace {
			continue
		}
		at[s.ID] = len(deletes)
		deletes = append(deletes, job{plan.Node{ID: "delete " + s.ID}, plan.Delete, s})
	}
	for _, d := range deletes {
		for _, need := range d.step.Needs {
			if i, ok := at[need]; ok {
				deletes[i].node.Needs = append(deletes[i].node.Needs, d.node.ID)
			}
		}
	}
	for _, s := range p.Steps {
		if !s.Verb.Changes() {
			continue
		}
		j := job{plan.Node{ID: s.ID}, s.Verb, s}
		for _, need := range s.Needs {
			if active[need] {
				j.node.Needs = append(j.node.Needs, need)
			}
		}
		if s.Verb == plan.Replace {
			j.verb = plan.Create
			j.node.Needs = append(j.node.Needs, "delete "+s.ID)
		}
		others = append(others, j)
	}
	return append(deletes, others...)
}

// Graph returns the jobs that Run executes for p, in order. Each is named like its events ("create
// aws/vpc") and lists the jobs that it waits for.
func Graph(p plan.Plan) []plan.Node {
	all := jobsOf(p)
	names := make(map[string]string, len(all))
	for _, j := range all {
		names[j.node.ID] = string(j.verb) + " " + j.step.ID
	}
	out := nodesOf(all)
	for i, n := range out {
		out[i] = plan.Node{ID: names[n.ID]}
		for _, need := range n.Needs {
			out[i].Needs = append(out[i].Needs, names[need])
		}
	}
	return out
}

func nodesOf(jobs []job) []plan.Node {
	out := make([]plan.Node, len(jobs))
	for i, j := range jobs {
		out[i] = j.node
	}
	return out
}
