package models

import (
	"cmp"
	"slices"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// model is the data of model.html.
type model struct {
	*apiv1.Model

	Path string
	// Workspace is the name of its workspace, or "" if the visitor cannot see it.
	Workspace string
	Versions  []version
	Paging    ui.Paging
	MayChange bool
	Metadata  string
}

func showModel(v *ui.Visit) error {
	out, err := v.API.ModelVersions(v.Context(), v.PathValue("model"))
	if err != nil {
		return err
	}
	names, err := v.API.WorkspaceNames(v.Context())
	if err != nil {
		return err
	}
	m := newModel(out, v.User)
	m.Workspace = names[m.GetWorkspaceId()]
	m.Versions, m.Paging = ui.Part(m.Versions, v.URL.Query())
	return v.Show(modelPage, "Model "+m.GetName(), m)
}

func newModel(out *apiv1.GetModelVersionsResponse, by *apiv1.User) model {
	m := model{
		Model: out.GetModel(), Path: modelPath(out.GetModel().GetName()), MayChange: mayChange(out.GetModel(), by),
		Metadata: ui.Indented(out.GetModel().GetMetadata()),
	}
	for _, one := range out.GetModelVersions() {
		m.Versions = append(m.Versions, newVersion(m.Model, one, by))
	}
	slices.SortStableFunc(m.Versions, func(a, b version) int { return cmp.Compare(b.GetVersion(), a.GetVersion()) })
	return m
}

// mayChange reports whether a user may change a model and its versions.
func mayChange(m *apiv1.Model, by *apiv1.User) bool {
	return by.GetAdmin() || by.GetId() == m.GetUserId()
}

func archiveModel(archived bool) func(*ui.Visit) error {
	done := "The model is no longer archived."
	if archived {
		done = "The model is archived."
	}
	return func(v *ui.Visit) error {
		name := v.PathValue("model")
		if err := v.API.ArchiveModel(v.Context(), name, archived); err != nil {
			return err
		}
		return v.Done(modelPath(name), done)
	}
}

func askDeleteModel(v *ui.Visit) error {
	m, err := v.API.Model(v.Context(), v.PathValue("model"))
	if err != nil {
		return err
	}
	return v.Confirm(deletionOf(m))
}

func deletionOf(m *apiv1.Model) ui.Confirmation {
	q := ui.Confirmation{
		Question: "Delete model " + m.GetName() + "?", Button: "Delete the model", Back: modelPath(m.GetName()),
		Effects: []string{"It is deleted with its notes and metadata, and nobody can bring it back."},
	}
	if n := m.GetNumVersions(); n > 0 {
		q.Effects = append(q.Effects, "So is what is written about its "+ui.Count(n, "version")+
			". Their checkpoints stay, but are no longer protected: a deletion of their experiment deletes them, too.")
	}
	return q
}

func deleteModel(v *ui.Visit) error {
	m, err := v.API.Model(v.Context(), v.PathValue("model"))
	if err != nil {
		return err
	}
	if err := v.API.DeleteModel(v.Context(), m.GetName()); err != nil {
		return v.Refused(deletionOf(m), err)
	}
	return v.Done(modelsPath, "Model "+m.GetName()+" was deleted.")
}
