package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// shortest is the minimum length of the beginning of an ID that is accepted instead of the ID.
const shortest = 4

// shownMatches is the number of objects that an ambiguous name lists.
const shownMatches = 20

// resolveArgs replaces each argument that is a name or the beginning of an ID by the ID. Arguments that
// match nothing are left to the call, whose error is more exact.
func (o *Remote) resolveArgs(ctx context.Context, master *client.Client) error {
	ids := slices.Clone(o.Args)
	for i, text := range o.Args {
		noun := o.nounOf(i)
		if noun == "" {
			continue
		}
		id, err := Resolve(ctx, master, noun, text)
		if err != nil {
			return err
		}
		ids[i] = id
	}
	o.Args = ids
	return nil
}

// Resolve returns the ID of the object with a name or an ID that begins with text, or text if there is no such object.
func Resolve(ctx context.Context, master *client.Client, n client.Noun, text string) (string, error) {
	if isWhole(n, text) {
		return text, nil
	}
	list, more, err := master.Names(ctx, n, text, shownMatches)
	if kind := client.KindOf(err); kind == client.Unbuilt || kind == client.NotFound {
		return text, nil // a master of an earlier version
	}
	if err != nil {
		return "", err
	}
	id, err := choose(n, text, list, more)
	if err == nil && isNumbered(n) && !isNumber(id) {
		return "", &missingError{n, text}
	}
	return id, err
}

// missingError reports a text that is neither the number nor the name of an object.
type missingError struct {
	noun client.Noun
	text string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("no %s has the number or name %q", strings.TrimSuffix(string(e.noun), "s"), e.text)
}

// Hint implements the second line of an error.
func (e *missingError) Hint() string {
	hint := "det-deploy " + strings.TrimSuffix(string(e.noun), "s") + " list"
	if e.noun == client.Experiments {
		hint += " --all"
	}
	if e.noun == client.Trials {
		hint += " EXPERIMENT"
	}
	return hint
}

// isNumbered reports whether the IDs of a noun are numbers. The beginning of a number stands for nothing.
func isNumbered(n client.Noun) bool {
	return n == client.Experiments || n == client.Trials || n == client.Workspaces || n == client.Projects
}

func isNumber(id string) bool {
	_, err := strconv.ParseInt(id, 10, 32)
	return err == nil
}

// isWhole reports whether text is a whole ID, which needs no lookup.
func isWhole(n client.Noun, text string) bool {
	switch n {
	case client.Experiments, client.Trials:
		return isNumber(text)
	case client.Tasks, client.Jobs, client.Checkpoints:
		return len(text) == 36 && uuid.Validate(text) == nil
	case client.Agents, client.Pools, client.Models, client.Users, client.Workspaces, client.Projects, client.Templates:
	}
	return false
}

// choose returns the ID of the only object of the list with this ID or name, or else with this beginning of
// its ID or its task. It returns text if no object matches, and an ambiguousError if several do.
func choose(n client.Noun, text string, list []*apiv1.Name, more bool) (string, error) {
	for _, rule := range []func(*apiv1.Name) bool{
		func(x *apiv1.Name) bool { return x.GetId() == text },
		func(x *apiv1.Name) bool { return x.GetName() == text || pathOf(x) == text },
		func(x *apiv1.Name) bool {
			long := x.GetId()
			if isNumbered(n) {
				long = x.GetTaskId()
			}
			return len(text) >= shortest && strings.HasPrefix(long, text)
		},
	} {
		var found []*apiv1.Name
		for _, x := range list {
			if rule(x) {
				found = append(found, x)
			}
		}
		switch {
		case len(found) > 1:
			return "", &ambiguousError{n, text, found, more}
		case len(found) == 1:
			return found[0].GetId(), nil
		}
	}
	return text, nil
}

// pathOf returns WORKSPACE/PROJECT for a project, or else the name.
func pathOf(x *apiv1.Name) string {
	if x.GetWorkspace() == "" {
		return x.GetName()
	}
	return x.GetWorkspace() + "/" + x.GetName()
}

// ambiguousError reports a text that matches several objects, and lists them.
type ambiguousError struct {
	noun  client.Noun
	text  string
	found []*apiv1.Name
	more  bool
}

func (e *ambiguousError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q stands for several %s; nothing was done:", e.text, e.noun)
	for _, x := range e.found {
		b.WriteString("\n  " + joinWords(x.GetId(), pathOf(x), x.GetUsername(), x.GetState()))
	}
	if e.more {
		b.WriteString("\n  …")
	}
	return b.String()
}

// Hint implements the second line of an error.
func (e *ambiguousError) Hint() string {
	if e.noun == client.Projects {
		return "type WORKSPACE/PROJECT, or the ID"
	}
	return "type more of the ID"
}

// joinWords joins the non-empty texts.
func joinWords(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "  ")
}
