package models

import (
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// fields are the fields of the form of a model, or of a version. Labels has one in a line, and Metadata is JSON.
type fields struct{ Name, Text, Notes, Labels, Metadata string }

func readFields(v *ui.Visit) fields {
	return fields{v.Field("name"), v.Lines("text"), v.Lines("notes"), v.Lines("labels"), v.Lines("metadata")}
}

// metadata returns the metadata as a patch has them, or the sentence about their form.
func (f fields) metadata() (*structpb.Struct, string) {
	object := map[string]any{}
	if strings.TrimSpace(f.Metadata) != "" {
		if err := json.Unmarshal([]byte(f.Metadata), &object); err != nil {
			return nil, "The metadata must be a JSON object, such as {\"dataset\": \"imagenet\"}: " + err.Error() + "."
		}
	}
	out, err := structpb.NewStruct(object)
	if err != nil {
		return nil, "The metadata must be a JSON object: " + err.Error() + "."
	}
	return out, ""
}

// edit is the data of edit.html.
type edit struct {
	fields

	// Path is the address of the object, and TextName the name of the field Text.
	Path, TextName string
	// NeedsName reports that the name must not be empty.
	NeedsName bool
	// Workspaces are those that a model can move to.
	Workspaces []*apiv1.Workspace
	// Problem is the error in the fields.
	Problem string
}

func (e edit) show(v *ui.Visit, title string) error {
	if e.Problem != "" {
		return v.ShowInvalid(editPage, title, e)
	}
	return v.Show(editPage, title, e)
}

func showEdit(v *ui.Visit) error {
	m, err := v.API.Model(v.Context(), v.PathValue("model"))
	if err != nil {
		return err
	}
	return showEditModel(v, m, fields{
		m.GetName(), m.GetDescription(), m.GetNotes(), strings.Join(m.GetLabels(), "\n"), ui.Indented(m.GetMetadata()),
	}, "")
}

func showEditModel(v *ui.Visit, m *apiv1.Model, f fields, problem string) error {
	e := edit{fields: f, Path: modelPath(m.GetName()), TextName: "Description", NeedsName: true, Problem: problem}
	all, err := v.API.Workspaces(v.Context(), false)
	if err != nil {
		return err
	}
	for _, w := range all {
		if w.GetId() != m.GetWorkspaceId() {
			e.Workspaces = append(e.Workspaces, w)
		}
	}
	return e.show(v, "Edit model "+m.GetName())
}

func changeModel(v *ui.Visit) error {
	m, err := v.API.Model(v.Context(), v.PathValue("model"))
	if err != nil {
		return err
	}
	f := readFields(v)
	metadata, problem := f.metadata()
	if problem != "" {
		return showEditModel(v, m, f, problem)
	}
	changed, err := v.API.PatchModel(v.Context(), m.GetName(), &apiv1.PatchModel{
		Name: &f.Name, Description: &f.Text, Notes: &f.Notes, Labels: ui.Labels(f.Labels), Metadata: metadata,
	})
	if ui.IsInvalid(err) {
		return showEditModel(v, m, f, ui.Sentence(err))
	}
	if err != nil {
		return err
	}
	return v.Done(modelPath(changed.GetName()), "The model was changed.")
}

func moveModel(v *ui.Visit) error {
	name := v.PathValue("model")
	to, err := v.Number("workspace", "Choose the workspace to which the model moves.")
	if err == nil {
		err = v.API.MoveModel(v.Context(), name, to)
	}
	if err != nil {
		return err
	}
	return v.Done(modelPath(name), "The model was moved.")
}

func showEditVersion(v *ui.Visit) error {
	m, err := findVersion(v)
	if err != nil {
		return err
	}
	f := fields{m.GetName(), m.GetComment(), m.GetNotes(), strings.Join(m.GetLabels(), "\n"), m.Metadata}
	return newVersionEdit(m, f, "").show(v, "Edit "+m.title())
}

func newVersionEdit(m version, f fields, problem string) edit {
	return edit{fields: f, Path: m.Path, TextName: "Comment", Problem: problem}
}

func changeVersion(v *ui.Visit) error {
	m, err := findVersion(v)
	if err != nil {
		return err
	}
	f := readFields(v)
	metadata, problem := f.metadata()
	if problem != "" {
		return newVersionEdit(m, f, problem).show(v, "Edit "+m.title())
	}
	_, err = v.API.PatchVersion(v.Context(), m.GetModel().GetName(), m.GetVersion(), &apiv1.PatchModelVersion{
		Name: &f.Name, Comment: &f.Text, Notes: &f.Notes, Labels: ui.Labels(f.Labels), Metadata: metadata,
	})
	if ui.IsInvalid(err) {
		return newVersionEdit(m, f, ui.Sentence(err)).show(v, "Edit "+m.title())
	}
	if err != nil {
		return err
	}
	return v.Done(m.Path, "The version was changed.")
}
