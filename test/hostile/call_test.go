package hostile_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// answerLimit bounds what is read of an answer: logs that are followed have no end.
const answerLimit = 1 << 20

// patience is how long an answer may take. It is far above what one takes, because
// the machines of tests are busy; whatever is not answered in time is not refused.
const patience = time.Minute

// call is one request, with whatever header carries the proof of who calls.
type call struct {
	method, path, body string
	header             http.Header
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) ok() bool { return a.status >= 200 && a.status < 300 }

func (a answer) String() string {
	return fmt.Sprintf("%d %s", a.status, a.body[:min(len(a.body), 300)])
}

// judge takes an answer for success.
func (a answer) judge(err error) outcome {
	if err != nil {
		return isUntried(err)
	}
	return gained(a.ok(), "%s", a)
}

// do makes a call.
func (w *world) do(ctx context.Context, c call) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, c.method, w.url+w.fill(c.path), strings.NewReader(w.fill(c.body)))
	if err != nil {
		return answer{}, err
	}
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, answerLimit))
	return answer{resp.StatusCode, resp.Header, body}, err
}

// bearing is the header of somebody with a token.
func bearing(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

// allocating is the header of a task's own processes.
func allocating(token string) http.Header {
	return http.Header{"Grpc-Metadata-X-Allocation-Token": {"Bearer " + token}}
}

// raw sends bytes as they are, and returns all that comes back until the other end
// closes or has nothing more to say.
func (w *world) raw(ctx context.Context, text string) (string, error) {
	address := strings.TrimPrefix(w.url, "http://")
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // nothing more is wanted of it
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	text = strings.ReplaceAll(w.fill(text), "{host}", address)
	if _, err := io.WriteString(conn, text); err != nil {
		return "", err
	}
	var got bytes.Buffer
	_, err = io.Copy(&got, io.LimitReader(conn, answerLimit))
	if got.Len() > 0 {
		err = nil // it has answered; how it ended does not matter
	}
	return got.String(), err
}
