package experiment

import (
	"fmt"
	"slices"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// verb is an action that has no other fields.
type verb struct {
	Name string
	// done is the message afterwards.
	done string
	// effect is told before an action that cannot be undone; a button does the others at once.
	effect string
}

// verbs are the actions without a form of their own.
var verbs = []verb{
	{"pause", "The experiment pauses after a checkpoint.", ""},
	{"activate", "The experiment is active again.", ""},
	{"cancel", "The experiment ends after a checkpoint.", "It ends after a checkpoint."},
	{"kill", "The experiment was killed.", "Steps since the latest checkpoint are lost."},
	{"archive", "The experiment is archived.", ""},
	{"unarchive", "The experiment is no longer archived.", ""},
}

// capital returns the name with a capital letter.
func capital(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// ask shows the page before an action that cannot be undone.
func (b verb) ask(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	x := reply.GetExperiment()
	return v.Confirm(ui.Confirmation{
		Question: fmt.Sprintf("%s experiment %d, “%s”?", capital(b.Name), x.GetId(), x.GetName()), Effects: []string{b.effect},
		Button: capital(b.Name) + " the experiment", Back: address(x.GetId()),
	})
}

func (b verb) serve(v *ui.Visit) error {
	id, err := idOf(v)
	if err != nil {
		return err
	}
	if err := v.API.ChangeExperiment(v.Context(), id, b.Name); err != nil {
		return err
	}
	return v.Done(address(id), b.done)
}

// action is a button or a link to the page of an action.
type action struct {
	Text, Path string
	// Page is set for a link, and Danger for what cannot be undone.
	Page, Danger bool
}

// actionsOn returns the actions that a user may take on an experiment in its state.
func actionsOn(x *apiv1.Experiment, by *apiv1.User) []action {
	if !by.GetAdmin() && by.GetId() != x.GetUserId() {
		return nil
	}
	var all []action
	add := func(names ...string) {
		for _, name := range names {
			atOnce := slices.ContainsFunc(verbs, func(b verb) bool { return b.Name == name && b.effect == "" })
			all = append(all, action{Text: capital(name), Path: address(x.GetId()) + "/" + name, Page: !atOnce, Danger: name == "kill" || name == "delete"})
		}
	}
	here := !x.GetUnmanaged()
	switch state := strings.TrimPrefix(x.GetState().String(), "STATE_"); {
	case state == "PAUSED" && here:
		add("activate", "cancel", "kill")
	case strings.HasPrefix(state, "STOPPING") && here:
		add("kill")
	case state == "DELETING":
		return nil
	case state == "DELETE_FAILED":
		add("delete")
		return all
	case x.GetEndTime() == nil && here:
		add("pause", "cancel", "kill")
	case x.GetEndTime() != nil:
		if here && !x.GetArchived() {
			add("continue")
		}
	}
	if x.GetOriginalConfig() != "" && here {
		add("fork")
	}
	add("edit")
	if !x.GetArchived() {
		add("move")
	}
	if x.GetEndTime() != nil {
		name := "archive"
		if x.GetArchived() {
			name = "unarchive"
		}
		add(name, "delete")
	}
	return all
}
