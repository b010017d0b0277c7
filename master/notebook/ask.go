package notebook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/task"
	"github.com/det-deploy/det-deploy/master/task/jupyter"
)

const (
	// askTime is the time limit for a look at a notebook.
	askTime = 5 * time.Second
	// answerLimit is the maximum size of an answer of Jupyter.
	answerLimit = 1 << 20
)

// question asks the program of one notebook.
type question struct {
	of     task.Notebook
	client *http.Client
}

// open returns a question for a notebook. The caller closes it.
func (w *Watch) open(n task.Notebook) question {
	return question{n, &http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return w.dial(ctx, n)
			},
			DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// errAway reports that a notebook could not be asked.
var errAway = errors.New("its container cannot be reached")

// dial connects to a notebook. That nothing listens is an answer of its container; with other errors its machine
// may be away.
func (w *Watch) dial(ctx context.Context, n task.Notebook) (net.Conn, error) {
	conn, err := w.cfg.Streams().Dial(ctx, n.Container, n.Port)
	if _, refused := errors.AsType[*rm.RefusedError](err); err != nil && !refused {
		return nil, fmt.Errorf("%w: %w", errAway, err)
	}
	return conn, err
}

func (q question) close() { q.client.CloseIdleConnections() }

// answers returns an error if the notebook does not serve its pages.
func (q question) answers(ctx context.Context) error {
	var status json.RawMessage
	return q.get(ctx, "api/status", &status)
}

// look asks Jupyter about the use of the notebook.
func (q question) look(ctx context.Context) (s seen, err error) {
	if err := q.get(ctx, "api/kernels", &s.Kernels); err != nil {
		return s, err
	}
	// Jupyter may be configured without terminals.
	if err := q.get(ctx, "api/terminals", &s.Terminals); err != nil && !errors.Is(err, errMissing) {
		return s, err
	}
	return s, nil
}

var errMissing = errors.New("jupyter does not know the path")

// get reads one answer.
func (q question) get(ctx context.Context, path string, out any) error {
	url := "http://" + net.JoinHostPort("localhost", strconv.Itoa(q.of.Port)) + q.of.Path + path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set(jupyter.Header, q.of.Key)
	res, err := q.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	switch res.StatusCode {
	case http.StatusOK:
		return json.NewDecoder(io.LimitReader(res.Body, answerLimit)).Decode(out)
	case http.StatusNotFound:
		return errMissing
	}
	return fmt.Errorf("jupyter answers with status %d", res.StatusCode)
}
