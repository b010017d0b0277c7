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

// answerLimit limits the part of a response that is read, because followed logs do not end.
const answerLimit = 1 << 20

// patience limits the wait for a response. It is long because test machines are busy; a missing
// response does not count as a rejection.
const patience = time.Minute

// call is one request; its header has the credentials of the caller.
type call struct {
	method, path, body string
	header             http.Header
}

// answer is the response to a call.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) ok() bool { return a.status >= 200 && a.status < 300 }

func (a answer) String() string {
	return fmt.Sprintf("%d %s", a.status, a.body[:min(len(a.body), 300)])
}

// judge counts a 2xx response as success.
func (a answer) judge(err error) outcome {
	if err != nil {
		return isUntried(err)
	}
	return gained(a.ok(), "%s", a)
}

// do sends a call and returns the response.
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

// bearing returns the header with a user's or task's token.
func bearing(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

// allocating returns the header of a task's processes.
func allocating(token string) http.Header {
	return http.Header{"Grpc-Metadata-X-Allocation-Token": {"Bearer " + token}}
}

// raw sends text unchanged and returns the response until the server closes the connection or the
// deadline expires. It returns an error if the response is empty.
func (w *world) raw(ctx context.Context, text string) (string, error) {
	address := strings.TrimPrefix(w.url, "http://")
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }() // the connection is not used any more
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
		err = nil // any response is enough
	}
	return got.String(), err
}
