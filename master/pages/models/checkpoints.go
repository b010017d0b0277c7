package models

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/det-deploy/det-deploy/master/api/client"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/pages/ui"
)

// checkpointList is the data of checkpoints.html.
type checkpointList struct {
	// Experiment is the number of the experiment of the checkpoints, or "".
	Experiment string
	Rows       []checkpoint
	Paging     ui.Paging
}

// checkpoint is a checkpoint with its sizes.
type checkpoint struct {
	*apiv1.Checkpoint

	Path  string
	Size  int64
	Files []file
	// Experiment and Trial are its numbers, 0 if they are unknown.
	Experiment, Trial int32
	// Step is the number of batches, or "".
	Step string
	// Metric is the value of the searcher's metric, if Measured.
	Metric   float64
	Measured bool
	Metadata string
}

// file is a file of a checkpoint.
type file struct {
	Name, Path string
	Size       int64
}

// pageRows is the number of checkpoints of a page.
const pageRows = 50

func showCheckpoints(v *ui.Visit) error {
	q := v.URL.Query()
	offset := ui.Offset(q)
	l := checkpointList{Experiment: strings.TrimSpace(q.Get("experiment"))}
	experiment, err := strconv.ParseInt(l.Experiment, 10, 32)
	if l.Experiment != "" && (err != nil || experiment <= 0) {
		return &ui.Refusal{Status: http.StatusBadRequest, Message: "The experiment must be a number."}
	}
	page, total, err := v.API.CheckpointPage(v.Context(), client.CheckpointQuery{Experiment: int32(experiment)}, offset, pageRows)
	if err != nil {
		return err
	}
	for _, c := range page {
		l.Rows = append(l.Rows, newCheckpoint(c))
	}
	l.Paging = ui.Paging{Offset: offset, Limit: pageRows, Total: total}
	return v.Show(checkpointListPage, "Checkpoints", l)
}

func newCheckpoint(c *apiv1.Checkpoint) checkpoint {
	out := checkpoint{
		Checkpoint: c, Path: checkpointPath(c.GetUuid()), Experiment: c.GetTraining().GetExperimentId().GetValue(), Trial: c.GetTraining().GetTrialId().GetValue(),
		Metadata: pretty(c.GetMetadata()),
	}
	if v := c.GetMetadata().GetFields()["steps_completed"]; v != nil {
		out.Step = strconv.FormatFloat(v.GetNumberValue(), 'f', -1, 64)
	}
	if m := c.GetTraining().GetSearcherMetric(); m != nil {
		out.Metric, out.Measured = m.GetValue(), true
	}
	for name, size := range c.GetResources() {
		out.Size += size
		if !strings.HasSuffix(name, "/") {
			out.Files = append(out.Files, file{name, out.Path + "/file?" + url.Values{"path": {name}}.Encode(), size})
		}
	}
	slices.SortFunc(out.Files, func(a, b file) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// IsThere reports whether the files of a checkpoint can be downloaded.
func (c checkpoint) IsThere() bool {
	return c.GetState() != apiv1.Checkpoint_STATE_DELETED && c.GetState() != apiv1.Checkpoint_STATE_ERROR
}

// pretty returns metadata as indented JSON, or "".
func pretty(m *structpb.Struct) string {
	if len(m.GetFields()) == 0 {
		return ""
	}
	b, err := json.MarshalIndent(m.AsMap(), "", "  ")
	if err != nil { // metadata may have numbers that JSON has not
		return ""
	}
	return string(b)
}

// hasText reports whether the name of a model contains a text.
func hasText(m *apiv1.Model, text string) bool {
	return strings.Contains(strings.ToLower(m.GetName()), strings.ToLower(strings.TrimSpace(text)))
}

func showCheckpoint(v *ui.Visit) error {
	c, err := v.API.Checkpoint(v.Context(), v.PathValue("uuid"))
	if err != nil {
		return err
	}
	return v.Show(checkpointPage, "Checkpoint "+c.GetUuid(), newCheckpoint(c))
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
