package experiment

import (
	"fmt"
	"net/http"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// fork is the data of the pages that fork or continue an experiment.
type fork struct {
	head

	// Fork is set for a new experiment.
	Fork bool
	// Config is the text in the field, and Template the template that it overrides.
	Config, Template string
	Paused           bool
	// Verdict says what is wrong with the configuration, and Good that nothing is.
	Verdict  string
	Good     bool
	Warnings []string
}

func serveFork(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	x := reply.GetExperiment()
	if x.GetOriginalConfig() == "" {
		return &ui.Refusal{Status: http.StatusForbidden, Message: fmt.Sprintf("Experiment %d belongs to %s: only its owner and administrators can fork it.", x.GetId(), ui.Plain(x.GetUsername()))}
	}
	return v.Show(forkPage, fmt.Sprintf("Fork experiment %d", x.GetId()), fork{head: newHead(reply, "none"), Fork: true, Config: ui.PlainLines(x.GetOriginalConfig())})
}

// doFork creates an experiment, or only checks its configuration if the form asks for that.
func doFork(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	id := reply.GetExperiment().GetId()
	f := fork{head: newHead(reply, "none"), Fork: true, Config: v.PostFormValue("config"), Template: v.PostFormValue("template"), Paused: v.PostFormValue("paused") != ""}
	in := &apiv1.CreateExperimentRequest{ParentId: id, Config: f.Config, Activate: !f.Paused, ValidateOnly: v.IsLive() || v.PostFormValue("check") != ""}
	if f.Template != "" {
		in.Template = &f.Template
	}
	made, err := v.API.CreateExperiment(v.Context(), in)
	if err == nil && !in.GetValidateOnly() {
		return v.Done(address(made.GetExperiment().GetId()), fmt.Sprintf("Forked from experiment %d.", id))
	}
	if f.Verdict = ui.Sentence(err); err != nil && f.Verdict == "" {
		return err
	}
	if f.Verdict != "" {
		return f.showInvalid(v, fmt.Sprintf("Fork experiment %d", id))
	}
	f.Good, f.Warnings = true, made.GetConfigWarnings()
	return v.Show(forkPage, fmt.Sprintf("Fork experiment %d", id), f)
}

func serveContinue(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	return v.Show(forkPage, fmt.Sprintf("Continue experiment %d", reply.GetExperiment().GetId()), fork{head: newHead(reply, "none")})
}

func doContinue(v *ui.Visit) error {
	reply, err := read(v)
	if err != nil {
		return err
	}
	id := reply.GetExperiment().GetId()
	f := fork{head: newHead(reply, "none"), Config: v.PostFormValue("config")}
	if _, err = v.API.ContinueExperiment(v.Context(), id, f.Config); err == nil {
		return v.Done(address(id), "The experiment was continued.")
	}
	if f.Verdict = ui.Sentence(err); f.Verdict == "" {
		return err
	}
	return f.showInvalid(v, fmt.Sprintf("Continue experiment %d", id))
}

// showInvalid shows the form again. A script that checks it while it is written takes only an answer with
// status 200.
func (f fork) showInvalid(v *ui.Visit, title string) error {
	if v.IsLive() {
		return v.Show(forkPage, title, f)
	}
	return v.ShowInvalid(forkPage, title, f)
}
