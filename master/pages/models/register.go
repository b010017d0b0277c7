package models

import (
	"fmt"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// registration is the data of register.html.
type registration struct {
	UUID, Path string
	// Models are the names of models that the visitor may add versions to.
	Models []string
	// Model, Name, Comment and Notes are the fields of the form, which is shown again with its Problem.
	Model, Name, Comment, Notes string
	Problem                     string
}

// mostOffered is the number of models that are offered; the name of another one can be typed.
const mostOffered = 200

func showRegister(v *ui.Visit) error { return showRegistration(v, registration{}) }

func showRegistration(v *ui.Visit, r registration) error {
	c, err := v.API.Checkpoint(v.Context(), v.PathValue("uuid"))
	if err != nil {
		return err
	}
	r.UUID, r.Path = c.GetUuid(), checkpointPath(c.GetUuid())
	all, err := v.API.Models(v.Context(), client.ModelQuery{})
	if err != nil {
		return err
	}
	for _, m := range all {
		if mayChange(m, v.User) && len(r.Models) < mostOffered {
			r.Models = append(r.Models, m.GetName())
		}
	}
	if r.Problem != "" {
		return v.ShowInvalid(registerPage, "Register a checkpoint", r)
	}
	return v.Show(registerPage, "Register a checkpoint", r)
}

func registerVersion(v *ui.Visit) error {
	r := registration{Model: v.Field("model"), Name: v.Field("name"), Comment: v.Field("comment"), Notes: v.Lines("notes")}
	if r.Model == "" {
		r.Problem = "Give the name of the model."
		return showRegistration(v, r)
	}
	made, err := v.API.RegisterVersion(v.Context(), &apiv1.PostModelVersionRequest{
		ModelName: r.Model, CheckpointUuid: v.PathValue("uuid"), Name: r.Name, Comment: r.Comment, Notes: r.Notes,
	})
	if ui.IsInvalid(err) || client.KindOf(err) == client.NotFound {
		r.Problem = ui.Sentence(err)
		return showRegistration(v, r)
	}
	if err != nil {
		return err
	}
	m := newVersion(made.GetModel(), made, v.User)
	return v.Done(m.Path, fmt.Sprintf("The checkpoint was registered as version %d.", m.GetVersion()))
}
