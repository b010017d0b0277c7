package plan

import (
	"slices"

	"github.com/det-deploy/det-deploy/cloud/resource"
)

// closeDrift decides the step for each wanted resource from its current state. It is pure. Seen
// must be in dependency order.
func closeDrift(seen []observedResource, deleteData bool) []Step {
	steps := make([]Step, len(seen))
	replaced := make(map[string]bool)
	for i, s := range seen {
		step := decideStep(s)
		if need := firstIn(replaced, s.resource.Needs()); need != "" && s.found.Exists() && step.Verb != Replace {
			// Its reference changes with the identity of the needed resource.
			step.Verb, step.Reason = Replace, "needs "+need+", which is replaced"
		}
		if step.Verb == Replace && s.found.Retain != "" && !deleteData {
			step.Verb = Refuse
			step.Reason = "cannot be changed without deleting it, and it " + s.found.Retain
		}
		replaced[step.ID] = step.Verb == Replace
		steps[i] = addReasons(step)
	}
	return steps
}

// addReasons adds the resource's own explanation to a step that creates, refuses or keeps it.
func addReasons(s Step) Step {
	switch s.Verb {
	case Create:
		if d, ok := s.Resource.(resource.Described); ok {
			s.Makes = d.Describe()
		}
	case Refuse:
		if a, ok := s.Resource.(resource.Adviser); ok {
			s.Try = a.Advise(s.Diff)
		}
	case Keep:
		if n, ok := s.Resource.(resource.Noted); ok && n.Note() != "" {
			s.Reason = n.Note()
		}
	case Update, Replace, Delete:
	}
	return s
}

func decideStep(s observedResource) Step {
	step := Step{
		ID:       s.resource.ID(),
		Needs:    slices.Sorted(slices.Values(s.resource.Needs())),
		Found:    s.found,
		Diff:     s.drift,
		Resource: s.resource,
	}
	_, updatable := s.resource.(resource.Updater)
	switch {
	case !s.found.Exists():
		step.Verb, step.Reason, step.Diff = Create, "does not exist", nil
	case len(s.drift) == 0:
		step.Verb, step.Reason = Keep, asWanted
	case slices.ContainsFunc(s.drift, func(d resource.Drift) bool { return d.Replace }):
		step.Verb, step.Reason = Replace, "differs in an immutable attribute"
	case updatable:
		step.Verb, step.Reason = Update, "differs"
	default:
		step.Verb, step.Reason = Refuse, "differs, but can neither be updated nor replaced"
	}
	return step
}

// asWanted is the reason to keep a resource without a note.
const asWanted = "is as wanted"

func firstIn(set map[string]bool, ids []string) string {
	for _, id := range slices.Sorted(slices.Values(ids)) {
		if set[id] {
			return id
		}
	}
	return ""
}

// planRemovals decides the steps for objects that are not wanted. Kinds are deleted in
// reverse order, each after the one before it, and the first after all steps in earlier,
// so that an object that still serves is not deleted before its successor exists. Kinds
// that are apart are waited for only by the next such kind:
//
//	machine ──▶ subnet ──▶ network
//	        ──▶ role ──▶ disk
//
// It is pure.
func planRemovals(fs []resource.Found, req Request, earlier []Step) []Step {
	needs := changingIDs(earlier) // of the next kind that is not apart
	var apart []string            // of the next kind that is apart
	resource.Sort(fs)
	var steps []Step
	for _, kind := range reverseKinds(req.Target.Kinds(), fs) {
		of := foundOf(fs, kind)
		if len(of) == 0 {
			continue
		}
		waits := needs
		if of[0].Apart && len(apart) > 0 {
			waits = apart
		}
		group := removalsOf(of, req, waits)
		steps = append(steps, group...)
		switch ids := changingIDs(group); {
		case len(ids) == 0:
		case of[0].Apart:
			apart = ids
		default:
			needs = ids
		}
	}
	return steps
}

func foundOf(fs []resource.Found, kind string) []resource.Found {
	var out []resource.Found
	for _, f := range fs {
		if f.Kind == kind {
			out = append(out, f)
		}
	}
	return out
}

func removalsOf(fs []resource.Found, req Request, needs []string) []Step {
	var steps []Step
	for _, f := range fs {
		s := Step{ID: f.Key(), Found: f}
		s.Verb, s.Reason = decideRemoval(f, req)
		if s.Verb == Delete {
			s.Needs = needs
		}
		steps = append(steps, s)
	}
	return steps
}

func decideRemoval(f resource.Found, req Request) (verb Verb, reason string) {
	switch {
	case f.Retain != "" && !req.DeleteData:
		return Keep, f.Retain
	case req.Down && f.Retain != "":
		return Delete, "belongs to the cluster, and " + f.Retain
	case req.Down:
		return Delete, "belongs to the cluster"
	case f.Retain != "":
		// Retained data that the configuration no longer mentions is not a leftover.
		return Keep, f.Retain
	case f.Launched:
		return Keep, "was launched by the cluster"
	default:
		return Delete, "is no longer wanted"
	}
}

func changingIDs(steps []Step) []string {
	var ids []string
	for _, s := range steps {
		if s.Verb.Changes() {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// reverseKinds returns kinds in reverse. It puts kinds of fs that kinds lacks first, because an
// unknown object is more likely to depend on others than they on it.
func reverseKinds(kinds []string, fs []resource.Found) []string {
	var unknown []string
	for _, f := range fs {
		if !slices.Contains(kinds, f.Kind) && !slices.Contains(unknown, f.Kind) {
			unknown = append(unknown, f.Kind)
		}
	}
	known := slices.Clone(kinds)
	slices.Reverse(known)
	return append(unknown, known...)
}
