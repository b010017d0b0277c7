package models

import (
	"io"
	"net/http"
	"path"

	"github.com/det-deploy/det-deploy/master/api/client"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// checkpointView is the data of checkpoint.html.
type checkpointView struct {
	checkpoint

	// MayDelete reports that the visitor may delete it.
	MayDelete bool
}

func showCheckpoint(v *ui.Visit) error {
	m, err := v.API.Checkpoint(v.Context(), v.PathValue("uuid"))
	if err != nil {
		return err
	}
	c := checkpointView{checkpoint: newCheckpoint(m)}
	if c.IsThere() && m.GetDeletion() == nil {
		if c.MayDelete, err = isOwner(v, c.Experiment); err != nil {
			return err
		}
	}
	return v.Show(checkpointPage, "Checkpoint "+m.GetUuid(), c)
}

// isOwner reports whether an experiment belongs to the visitor, who may be an administrator.
func isOwner(v *ui.Visit, experiment int32) (bool, error) {
	if v.User.GetAdmin() || experiment == 0 {
		return v.User.GetAdmin(), nil
	}
	out, err := v.API.Experiment(v.Context(), experiment)
	if kind := client.KindOf(err); kind == client.NotFound || kind == client.Forbidden {
		return false, nil
	}
	return err == nil && out.GetExperiment().GetUserId() == v.User.GetId(), err
}

// deletion returns the question before a checkpoint is deleted.
func (c checkpoint) deletion() ui.Confirmation {
	return ui.Confirmation{
		Question: "Delete checkpoint " + c.GetUuid() + "?", Button: "Delete the checkpoint", Back: c.Path,
		Effects: []string{
			"This deletes " + ui.Count(len(c.Files), "file") + ", " + ui.Bytes(c.Size) + ", from the storage, and nobody can bring them back.",
			"Its record stays in the list with the state deleted. A task of the cluster deletes the files; it may wait in the queue.",
		},
	}
}

func askDeleteCheckpoint(v *ui.Visit) error {
	m, err := v.API.Checkpoint(v.Context(), v.PathValue("uuid"))
	if err != nil {
		return err
	}
	return v.Confirm(newCheckpoint(m).deletion())
}

func deleteCheckpoint(v *ui.Visit) error {
	m, err := v.API.Checkpoint(v.Context(), v.PathValue("uuid"))
	if err != nil {
		return err
	}
	c := newCheckpoint(m)
	if err := v.API.DeleteCheckpoints(v.Context(), c.GetUuid()); err != nil {
		return v.Refused(c.deletion(), err)
	}
	return v.Done(c.Path, "The checkpoint is being deleted.")
}

// downloadCheckpoint sends all files of a checkpoint.
func downloadCheckpoint(v *ui.Visit) error {
	uuid := v.PathValue("uuid")
	body, err := v.API.DownloadCheckpoint(v.Context(), uuid)
	if err != nil {
		return err
	}
	return send(v, body, "checkpoint-"+uuid+".tar.gz", "application/gzip")
}

// downloadFile sends a file of a checkpoint.
func downloadFile(v *ui.Visit) error {
	name := v.URL.Query().Get("path")
	body, err := v.API.CheckpointFile(v.Context(), v.PathValue("uuid"), name, 0)
	if err != nil {
		return err
	}
	return send(v, body, path.Base(name), "application/octet-stream")
}

// send sends a body as a file.
func send(v *ui.Visit, body io.ReadCloser, name, mediaType string) error {
	defer body.Close() //nolint:errcheck // it was only read
	if _, err := io.Copy(v.Attach(name, mediaType), body); err != nil {
		panic(http.ErrAbortHandler) // a file that ends early must not seem complete
	}
	return nil
}
