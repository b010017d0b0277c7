package server

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/checkpoint/storage"
	"github.com/det-deploy/det-deploy/master/checkpoint/view"
)

// checkpointFileCalls serves the calls about checkpoints whose responses are not API messages.
type checkpointFileCalls struct{ *shared }

func (f *checkpointFileCalls) routes() []route {
	if f.cfg.Checkpoints == nil {
		return nil
	}
	return []route{
		getRoute("/checkpoints/{checkpoint}", user, endpoint{file: string(storage.Gzip), serve: f.download}),
		getRoute("/checkpoints/{checkpoint}/file", user, endpoint{file: "application/octet-stream", serve: f.downloadFile}),
		getRoute("/experiments/{experiment}/preview_gc", user, endpoint{file: "application/json", serve: f.preview}),
	}
}

// download responds with the files of a checkpoint.
func (f *checkpointFileCalls) download(c *call) error {
	format, err := acceptedFormat(c.Request)
	if err != nil {
		return err
	}
	id := c.PathValue("checkpoint")
	out := &archiveAnswer{w: c.w, rc: http.NewResponseController(c.w), format: format, name: id}
	err = f.cfg.Checkpoints.Download(c.Context(), c.user, id, format, out)
	if err != nil && !out.started {
		return err
	}
	if err != nil {
		f.logFailure(c, err)
		abortAnswer(c.w) // so that the client detects the truncation
	}
	return nil
}

// downloadFile responds with a file of a checkpoint, or with the range of it that the request names.
func (f *checkpointFileCalls) downloadFile(c *call) error {
	params := c.query()
	name := params.Text("path")
	if err := params.Err(); err != nil {
		return err
	}
	return f.cfg.Checkpoints.DownloadFile(c.Context(), c.user, c.PathValue("checkpoint"), name, func(from io.ReadSeeker) error {
		h := c.w.Header()
		h.Set("Content-Type", "application/octet-stream")
		h.Set("X-Content-Type-Options", "nosniff")
		if strings.Contains(c.Header.Get("Range"), ",") {
			c.Header.Del("Range") // several ranges could read the storage thousands of times
		}
		// It sets the content length, so that the client detects a truncation.
		http.ServeContent(&patientResponse{c.w, http.NewResponseController(c.w)}, c.Request, "", time.Time{}, from)
		return nil
	})
}

// patientResponse renews the write deadline at each write.
type patientResponse struct {
	http.ResponseWriter

	rc *http.ResponseController
}

// Write implements io.Writer.
func (p *patientResponse) Write(b []byte) (int, error) {
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
	return p.ResponseWriter.Write(b)
}

// acceptedFormat returns the first supported format in the Accept header.
func acceptedFormat(r *http.Request) (storage.Format, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept == "" {
		return storage.Gzip, nil
	}
	for part := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(part, ";")
		media = strings.TrimSpace(media)
		if media == "*/*" || media == "application/*" {
			return storage.Gzip, nil
		}
		for _, f := range storage.Formats() {
			if media == string(f) {
				return f, nil
			}
		}
	}
	return "", status.New(status.InvalidArgument, "Accept: must be one of application/gzip, application/x-tar and application/zip")
}

// archiveAnswer sets the headers at the first write and renews the write deadline at each.
type archiveAnswer struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	format  storage.Format
	name    string
	started bool
}

// Write implements io.Writer.
func (a *archiveAnswer) Write(b []byte) (int, error) {
	if !a.started {
		a.started = true
		h := a.w.Header()
		h.Set("Content-Type", string(a.format))
		h.Set("Content-Disposition", `attachment; filename="`+a.name+a.format.Extension()+`"`)
		h.Set("X-Content-Type-Options", "nosniff")
	}
	_ = a.rc.SetWriteDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
	return a.w.Write(b)
}

// preview responds with the checkpoints that a policy would delete.
func (f *checkpointFileCalls) preview(c *call) error {
	params := c.query()
	id, err := c.experimentID()
	if err != nil {
		return err
	}
	counts := view.Counts{
		ExperimentBest: params.Count("save_experiment_best"), TrialBest: params.Count("save_trial_best"), TrialLatest: params.Count("save_trial_latest"),
	}
	if params.Err() != nil {
		return params.Err()
	}
	p, err := f.cfg.Checkpoints.Preview(c.Context(), c.user, id, counts)
	if err != nil {
		return err
	}
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, b)
	return nil
}
