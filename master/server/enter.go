package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/det-deploy/det-deploy/master/api/status"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server/guard"
	"github.com/det-deploy/det-deploy/master/task"
)

// entryCalls serves streams into the containers of running tasks, for their owners and administrators.
type entryCalls struct{ *shared }

func (e *entryCalls) routes() []route {
	if e.cfg.Tasks == nil {
		return nil
	}
	put := route{method: http.MethodPut, path: "tasks/{task}/files", access: person, endpoint: endpoint{file: "application/json", serve: e.writeFiles}}
	return []route{
		auditedRoute("task.exec", getRoute("tasks/{task}/exec", person, endpoint{socket: true, serve: e.exec})),
		auditedRoute("task.port", getRoute("tasks/{task}/port", person, endpoint{socket: true, serve: e.port})),
		auditedRoute("task.read_files", getRoute("tasks/{task}/files", person, endpoint{file: tarType, serve: e.readFiles})),
		auditedRoute("task.write_files", put),
	}
}

const (
	tarType = "application/x-tar"
	// entriesEach is the maximum number of streams into tasks that a user has open at a time.
	entriesEach = 512
	// enterTime limits the opening of a stream.
	enterTime = 30 * time.Second
	// longestPath is the maximum length of a path in a container, as in Linux.
	longestPath = 4096
)

func newEntries() *guard.Waits {
	w := guard.NewWaits(entriesEach)
	w.Refusal = "%s already has %d streams into tasks open, the most at a time; close some first"
	return w
}

// entry is one entry into a container.
type entry struct {
	task.Entrance
	ctx context.Context //nolint:containedctx // ends with the server
}

// enter checks the caller, and counts the entry until leave is called.
func (e *entryCalls) enter(c *call) (in entry, leave func(), err error) {
	id, rank := c.PathValue("task"), c.query().Number("rank")
	if c.query().Err() != nil {
		return in, nil, c.query().Err()
	}
	c.noteTarget(id, e.ownerOf(c, id), "rank="+c.query().Text("rank"))
	if in.Entrance, err = e.cfg.Tasks.Enter(c.Context(), c.user, id, rank); err != nil {
		return in, nil, err
	}
	free, err := e.entries.Acquire(c.ownerKey())
	if err != nil {
		return in, nil, err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	in.ctx = ctx
	go func() {
		select {
		case <-e.stopping:
			cancel(errStopping)
		case <-ctx.Done():
		}
	}()
	return in, func() { cancel(nil); free() }, nil
}

var errStopping = errors.New("the master is stopping")

// opening returns the context of the opening of a stream.
func (in entry) opening() (context.Context, context.CancelFunc) {
	return context.WithTimeout(in.ctx, enterTime)
}

// streamRefusal converts an error of a stream for clients.
func streamRefusal(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rm.ErrTooManyStreams):
		return status.New(status.ResourceExhausted, "%v; close some first", err)
	case errors.Is(err, context.DeadlineExceeded):
		return status.New(status.Unavailable, "the machine of the task did not answer within %s; try again", enterTime)
	case errors.Is(err, context.Canceled):
		return status.New(status.Unavailable, "%v", errStopping)
	}
	return status.New(status.FailedPrecondition, "%v", err)
}

// pathOf returns the path in the container that a call names.
func pathOf(c *call) (string, error) {
	switch p := c.query().Text("path"); {
	case c.query().Err() != nil:
		return "", c.query().Err()
	case p == "":
		return "", status.New(status.InvalidArgument, "path: must not be empty")
	case len(p) > longestPath:
		return "", status.New(status.InvalidArgument, "path: at most %d bytes", longestPath)
	default:
		return p, nil
	}
}

// resultTrailer is the trailer of an archive that is complete, or why it is not.
const resultTrailer = "Det-Deploy-Result"

// readFiles responds with a tar archive.
func (e *entryCalls) readFiles(c *call) error {
	in, leave, err := e.enter(c)
	if err != nil {
		return err
	}
	defer leave()
	path, err := pathOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := in.opening()
	defer cancel()
	from, err := in.ReadFiles(ctx, in.Container, path)
	if err != nil {
		return streamRefusal(err)
	}
	defer func() { _ = from.Close() }()
	defer context.AfterFunc(in.ctx, func() { _ = from.Close() })()
	c.answered(c.Context())
	c.w.Header().Set("Content-Type", tarType)
	c.w.Header().Set("X-Content-Type-Options", "nosniff")
	c.w.Header().Set("Trailer", resultTrailer)
	result := "complete"
	to := &patientWriter{c.w, http.NewResponseController(c.w)}
	if _, err := io.Copy(struct{ io.Writer }{to}, from); err != nil {
		result = oneLine(err)
	}
	c.w.Header().Set(resultTrailer, result)
	return nil
}

// writeFiles unpacks the body.
func (e *entryCalls) writeFiles(c *call) error {
	in, leave, err := e.enter(c)
	if err != nil {
		return err
	}
	defer leave()
	path, err := pathOf(c)
	if err != nil {
		return err
	}
	from := &patientReader{c.Body, http.NewResponseController(c.w)}
	if err := in.WriteFiles(in.ctx, in.Container, path, from); err != nil {
		return streamRefusal(err)
	}
	c.answered(c.Context())
	writeJSON(c.w, http.StatusOK, []byte("{}"))
	return nil
}

// patientReader renews the read deadline at each read.
type patientReader struct {
	r  io.Reader
	rc *http.ResponseController
}

// Read implements io.Reader.
func (p *patientReader) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
	return p.r.Read(b)
}
