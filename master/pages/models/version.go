package models

import (
	"fmt"
	"net/http"
	"strconv"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// version is the data of version.html, and a row of model.html.
type version struct {
	*apiv1.ModelVersion

	Path, ModelPath, CheckpointPath string
	MayChange                       bool
	Metadata                        string
}

func newVersion(of *apiv1.Model, m *apiv1.ModelVersion, by *apiv1.User) version {
	path := modelPath(of.GetName())
	return version{
		ModelVersion: m, Path: fmt.Sprintf("%s/versions/%d", path, m.GetVersion()), ModelPath: path,
		CheckpointPath: checkpointPath(m.GetCheckpoint().GetUuid()), MayChange: mayChange(of, by), Metadata: ui.Indented(m.GetMetadata()),
	}
}

func (m version) title() string {
	return fmt.Sprintf("version %d of model %s", m.GetVersion(), m.GetModel().GetName())
}

// findVersion returns the version of a visit.
func findVersion(v *ui.Visit) (version, error) {
	n, err := strconv.ParseInt(v.PathValue("version"), 10, 32)
	if err != nil {
		return version{}, &ui.Refusal{Status: http.StatusNotFound, Message: "There is no version with this number."}
	}
	m, err := v.API.ModelVersion(v.Context(), v.PathValue("model"), int32(n))
	if err != nil {
		return version{}, err
	}
	return newVersion(m.GetModel(), m, v.User), nil
}

func showVersion(v *ui.Visit) error {
	m, err := findVersion(v)
	if err != nil {
		return err
	}
	return v.Show(versionPage, fmt.Sprintf("Model %s, version %d", m.GetModel().GetName(), m.GetVersion()), m)
}

func (m version) deletion() ui.Confirmation {
	return ui.Confirmation{
		Question: "Delete " + m.title() + "?", Button: "Delete the version", Back: m.Path,
		Effects: []string{
			"It is deleted with its notes and metadata, and nobody can bring it back. Its number is not used again.",
			"Its checkpoint stays, but is no longer protected by this version: a deletion of its experiment deletes it, too.",
		},
	}
}

func askDeleteVersion(v *ui.Visit) error {
	m, err := findVersion(v)
	if err != nil {
		return err
	}
	return v.Confirm(m.deletion())
}

func deleteVersion(v *ui.Visit) error {
	m, err := findVersion(v)
	if err != nil {
		return err
	}
	if err := v.API.DeleteVersion(v.Context(), m.GetModel().GetName(), m.GetVersion()); err != nil {
		return v.Refused(m.deletion(), err)
	}
	return v.Done(m.ModelPath, "Version "+strconv.Itoa(int(m.GetVersion()))+" was deleted.")
}
