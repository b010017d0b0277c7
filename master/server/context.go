package server

import (
	"bufio"
	"encoding/base64"
	"io"
	"iter"
	"net/http"
	"strconv"
	"time"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// taskContext returns the endpoint that streams the files of a task.
func taskContext(t *taskCalls) endpoint {
	return endpoint{
		out:   new(apiv1.GetTaskContextDirectoryResponse).ProtoReflect().Descriptor(),
		serve: t.sendContext,
	}
}

// sendContext writes {"b64Tgz":"..."}.
func (t *taskCalls) sendContext(c *call) error {
	task := c.PathValue("task")
	if err := t.checkFilesReader(c, task); err != nil {
		return err
	}
	size, parts, err := t.cfg.Tasks.ContextDirectory(c.Context(), task)
	if err != nil {
		return err
	}
	return t.sendArchive(c, size, parts)
}

// sendArchive writes an archive of size bytes, or of unknown size if it is negative, part by part.
func (s *shared) sendArchive(c *call, size int64, parts iter.Seq2[[]byte, error]) error {
	out := newContextAnswer(c.w, size)
	for part, err := range parts {
		if err != nil && !out.started {
			return err
		}
		if err != nil {
			s.logFailure(c, err)
			if size < 0 {
				abortAnswer(c.w)
			}
			return nil // the client detects the truncation
		}
		if out.writeFile(part) != nil {
			return nil // the client has disconnected
		}
	}
	out.endAnswer()
	return nil
}

const (
	beforeContext = `{"b64Tgz":"`
	afterContext  = `"}`
	// answerBuffer is the size of the write buffer.
	answerBuffer = 64 << 10
)

// abortAnswer makes the connection fail at its next write, and at the end of the response.
func abortAnswer(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second)) // not supported by recorders in tests
}

// contextAnswer writes nothing before its first part. It sets the content length if it is known, so that
// clients detect a truncated response.
type contextAnswer struct {
	w       http.ResponseWriter
	size    int64 // of the archive, or negative
	out     *bufio.Writer
	text    io.WriteCloser
	started bool
}

func newContextAnswer(w http.ResponseWriter, size int64) *contextAnswer {
	a := &contextAnswer{w: w, size: size, out: bufio.NewWriterSize(&patientWriter{w, http.NewResponseController(w)}, answerBuffer)}
	a.text = base64.NewEncoder(base64.StdEncoding, a.out)
	return a
}

func (a *contextAnswer) startAnswer() {
	if a.started {
		return
	}
	a.started = true
	h := a.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	if a.size >= 0 {
		h.Set("Content-Length", strconv.Itoa(len(beforeContext)+base64.StdEncoding.EncodedLen(int(a.size))+len(afterContext)))
	}
	_, _ = a.out.WriteString(beforeContext) // out returns its first error at the next write
}

func (a *contextAnswer) writeFile(part []byte) error {
	a.startAnswer()
	_, err := a.text.Write(part)
	return err
}

func (a *contextAnswer) endAnswer() {
	a.startAnswer()
	_ = a.text.Close()                     // out keeps its first error
	_, _ = a.out.WriteString(afterContext) // as above
	_ = a.out.Flush()                      // the client may have disconnected
}

// patientWriter renews the write deadline at each write.
type patientWriter struct {
	w  io.Writer
	rc *http.ResponseController
}

// Write implements io.Writer.
func (p *patientWriter) Write(b []byte) (int, error) {
	_ = p.rc.SetWriteDeadline(time.Now().Add(writeTime)) // not supported by recorders in tests
	return p.w.Write(b)
}
